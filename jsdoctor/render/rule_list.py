"""The catalogue of rules: a table for people, JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.rule import Rule
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.rule_table import rule_table

RULES_SCHEMA = "jsdoctor.rules/v1"


def rules_text(rules: Sequence[Rule], options: RenderOptions) -> str:
    """One line per rule, by code: code, severity, slug, and the title where the width has room for it."""
    rows = [(rule.code, rule.severity.value, rule.slug, rule.status.value, rule.title) for rule in rules]
    return rule_table(rows, options)


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
