"""The catalogue of rules: a table for people, JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.rule import Rule
from jsdoctor.model.wording import counted
from jsdoctor.render.escape import ascii_only, printable
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions

RULES_SCHEMA = "jsdoctor.rules/v1"

_TITLE_MIN_WIDTH = 30
_BOLD, _DIM = "1", "2"
_SEVERITY_CODES = {"critical": "1;7;31", "error": "1;31", "warning": "1;33", "info": "1;36"}


def rules_text(rules: Sequence[Rule], options: RenderOptions) -> str:
    """One line per rule, by code: code, severity, slug, and the title where the width has room for it."""
    rows = [(rule.code, rule.severity.value, rule.slug, rule.status.value, rule.title) for rule in rules]
    code_width, severity_width, slug_width = (max((len(row[n]) for row in rows), default=0) for n in range(3))
    rest_width = options.width - code_width - severity_width - 4
    has_titles = rest_width - slug_width - 2 >= _TITLE_MIN_WIDTH
    lines = []
    for code, severity, slug, status, title in sorted(rows):
        state = "" if status == "stable" else f"({status}) "
        rest = _cut(f"{slug.ljust(slug_width)}  {state}{title if has_titles else ''}".rstrip(), rest_width, options)
        shown = _colored(severity.ljust(severity_width), _SEVERITY_CODES[severity], options)
        lines.append(f"{_colored(code.ljust(code_width), _BOLD, options)}  {shown}  {rest}\n")
    return "".join(lines) + _colored(f"{counted(len(rows), 'rule')}; see jsdoctor explain CODE", _DIM, options) + "\n"


def _cut(text: str, columns: int, options: RenderOptions) -> str:
    text = ascii_only(printable(text)) if options.ascii_only else printable(text)
    end = "..." if options.ascii_only else "…"
    return text if len(text) <= columns else text[: columns - len(end)] + end


def _colored(text: str, codes: str, options: RenderOptions) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if options.color else text


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
