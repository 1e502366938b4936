"""The catalogue of rules: a table for people, JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.rule import Rule, RuleStatus
from jsdoctor.model.wording import counted
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page

RULES_SCHEMA = "jsdoctor.rules/v1"
_TITLE_MIN_WIDTH = 30


def rules_text(rules: Sequence[Rule], options: RenderOptions) -> str:
    """One line per rule, by code: code, severity, slug, and the title where the width has room for it."""
    page = Page(options)
    ordered = sorted(rules, key=lambda rule: rule.code)
    code_width = max((len(rule.code) for rule in ordered), default=0)
    slug_width = max((len(rule.slug) for rule in ordered), default=0)
    severity_width = max((len(rule.severity.value) for rule in ordered), default=0)
    room = options.width - code_width - severity_width - slug_width - 6
    for rule in ordered:
        status = "" if rule.status is RuleStatus.STABLE else f"({rule.status.value}) "
        title = rule.title if room >= _TITLE_MIN_WIDTH else ""
        page.cut(
            (rule.code.ljust(code_width), "bold"),
            "  ",
            (rule.severity.value.ljust(severity_width), SEVERITY_STYLES[rule.severity]),
            "  ",
            rule.slug.ljust(slug_width),
            f"  {status}{title}",
        )
    page.line((f"{counted(len(ordered), 'rule')}; jsdoctor explain CODE shows one", "dim"))
    return page.text()


def rules_json(rules: Sequence[Rule], options: RenderOptions) -> str:
    """The rules as JSON, by code, with their parameters in the parameter's unit (durations in nanoseconds)."""
    listed = [_rule(rule) for rule in sorted(rules, key=lambda rule: rule.code)]
    return dumps({"schema": RULES_SCHEMA, "rules": listed}, options.ascii_only)


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "slug": rule.slug,
        "title": rule.title,
        "severity": rule.severity.value,
        "status": rule.status.value,
        "failure_mode": rule.failure_mode,
        "checks": rule.checks,
        "params": [
            {"name": param.name, "unit": param.unit.value, "default": param.default, "help": param.help}
            for param in rule.params.values()
        ],
        "signatures": [signature.name for signature in rule.signatures],
        "remedy": rule.remedy and {"action": rule.remedy.action, "risk": rule.remedy.risk.value},
        "origin": rule.origin,
    }
