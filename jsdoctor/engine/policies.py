"""Policies as rules: each is evaluated, selected, waived and reported under its code like a rule with a page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from jsdoctor.checks.policies import policy_checks
from jsdoctor.checks.registry import Check
from jsdoctor.model.finding import Impact
from jsdoctor.model.policy import Policy
from jsdoctor.model.rule import Rule

FAILURE_MODE = "policy"
_SLUG_WORDS = 5


def policy_rules(policies: Iterable[Policy]) -> tuple[tuple[Rule, ...], dict[str, Check]]:
    """The rules, and the checks that they name."""
    rules: list[Rule] = []
    checks: dict[str, Check] = {}
    for policy in policies:
        own_checks = policy_checks(policy)
        checks |= {check.name: check for check in own_checks}
        rules.append(
            Rule(
                code=policy.code,
                slug=_slug(policy),
                title=policy.title,
                checks=tuple(check.name for check in own_checks),
                severity=policy.severity,
                failure_mode=FAILURE_MODE,
                impact=Impact.HYGIENE,
                body=_page_body(policy),
                origin=f"{policy.origin}:{policy.line}",
            )
        )
    return tuple(rules), checks


def _slug(policy: Policy) -> str:
    """The code, which makes the slug unique, and the first words of the title."""
    words = re.findall(r"[a-z0-9]+", policy.title.lower())
    return "-".join((policy.code.lower(), *words[:_SLUG_WORDS]))


def _page_body(policy: Policy) -> str:
    where = {"name": policy.name, "account": policy.account, "stream": policy.stream}
    match = [f"{key} `{pattern}`" for key, pattern in where.items() if pattern != "*"]
    match += [f"metadata `{key}` = `{value}`" for key, value in policy.metadata.items()]
    parts = [
        f"## What it detects\n\nA policy of {policy.origin}, line {policy.line}, for each {policy.on}"
        + (f" with {', '.join(match)}" if match else "")
        + ". These fields are judged: "
        + ", ".join(f"`{name}`" for name in policy.conditions)
        + "."
    ]
    if policy.url:
        parts.append(f"## References\n\n- {policy.url}")
    return "\n\n".join(parts) + "\n"
