"""Rule pages to a validated rule set: codes and slugs unique, every check and remedy action known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from jsdoctor.checks.registry import Check
from jsdoctor.model.rule import Rule
from jsdoctor.parse.nearest import did_you_mean
from jsdoctor.parse.rule_page import PageError, parse_rule_page

RESERVED_PREFIX = "JSD"
"""Codes with this prefix belong to jsdoctor; rules that users add must use another."""


class PageText(msgspec.Struct, frozen=True):
    """A rule page before it is read: where it lies, its folder's name, its text, and whether jsdoctor ships it."""

    origin: str
    failure_mode: str
    text: str
    shipped: bool = True


def load_rules(pages: Iterable[PageText], checks: Mapping[str, Check], actions: frozenset[str]) -> tuple[Rule, ...]:
    """All rules by code. Raises `PageError` with the mistakes of all pages together."""
    rules: dict[str, Rule] = {}
    slugs: dict[str, Rule] = {}
    problems: list[str] = []
    for page in pages:
        try:
            rule = parse_rule_page(page.origin, page.text, page.failure_mode)
        except PageError as error:
            problems.extend(error.problems)
            continue
        problems.extend(_misfits(rule, page, checks, actions))
        for known in (rules.get(rule.code), slugs.get(rule.slug)):
            if known is not None:
                problems += [f"{rule.origin}:1: {rule.code} {rule.slug!r} is already taken by {known.origin}"]
        rules.setdefault(rule.code, rule)
        slugs.setdefault(rule.slug, rule)
    if problems:
        raise PageError(dict.fromkeys(problems))
    return tuple(rules[code] for code in sorted(rules))


def _misfits(rule: Rule, page: PageText, checks: Mapping[str, Check], actions: frozenset[str]) -> Iterable[str]:
    if rule.check not in checks:
        yield f"{rule.origin}:1: no check is named {rule.check!r}{did_you_mean(rule.check, checks)}"
    if rule.remedy and rule.remedy.action not in actions:
        yield f"{rule.origin}:1: no remedy action is named {rule.remedy.action!r}" + did_you_mean(
            rule.remedy.action, actions
        )
    if not page.shipped and rule.code.startswith(RESERVED_PREFIX):
        yield f"{rule.origin}:1: the prefix {RESERVED_PREFIX} is reserved; give {rule.code} a prefix of your own"
    name = rule.origin.replace("\\", "/").rsplit("/", 1)[-1]
    if name != f"{rule.code}.md":
        yield f"{rule.origin}:1: a rule page is named after its code: {rule.code}.md"
