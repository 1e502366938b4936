"""A rule page (TOML front matter between `+++` lines, then Markdown) to a `Rule`, or to every mistake in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from jsdoctor.model.duration import parse_duration
from jsdoctor.model.finding import Impact, Severity
from jsdoctor.model.rule import Explanation, LineFinding, Param, RemedyRef, Risk, Rule, RuleStatus, Signature, Unit
from jsdoctor.model.typed import convert_to
from jsdoctor.pages.front_matter import PageError, PageReader, split, toml

SECTIONS = ("What it detects", "Why it matters", "How it is measured", "Fix", "False positives", "References")
"""Headings that every rule page has, in this order."""

_KEYS = (
    *("code", "slug", "title", "check", "severity", "status"),
    *("impact", "explained_by", "params", "signatures", "lines", "remedy"),
)
_REQUIRED = ("code", "slug", "title", "check", "severity", "status")
_CODE = re.compile(r"[A-Z]{2,8}[0-9]{3,4}")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FIELD = re.compile(r"[a-z][a-z0-9_]*")
_MIN_LEN = 6
_LEVELS = ("FTL", "ERR", "WRN", "INF", "DBG", "TRC")


@lru_cache(maxsize=1024)  # the exporter, and programs that check again and again, read the same pages each time
def parse_rule_page(origin: str, text: str, failure_mode: str = "") -> Rule:
    """Read one page. `origin` names the file in messages. Raises `PageError` with every mistake found."""
    page = PageReader(origin, text)
    front, body, body_line = split(page)
    table = toml(page, front)
    page.unknown_keys(table, _KEYS, "the front matter")
    for key in _REQUIRED:
        if key not in table:
            page.problem("code", f"the front matter needs {key!r}")
    rule = Rule(
        code=_matching(page, table, "code", _CODE, "capital letters and three or four digits, as in JSD403"),
        slug=_matching(page, table, "slug", _SLUG, "lower-case words joined by hyphens"),
        title=page.text_of(table, "title", "the front matter"),
        checks=_checks(page, table),
        severity=page.choice(table, "severity", Severity, Severity.ERROR),
        status=page.choice(table, "status", RuleStatus, RuleStatus.STABLE),
        failure_mode=failure_mode,
        params=_params(page, table.get("params", {})),
        signatures=_signatures(page, table.get("signatures", [])),
        lines=_line_findings(page, table),
        remedy=_remedy(page, table.get("remedy")),
        impact=page.choice(table, "impact", Impact, Impact.RISK) if "impact" in table else None,
        explained_by=_explanations(page, table),
        body=body,
        origin=origin,
    )
    _check_sections(page, body, body_line)
    if page.problems:
        raise PageError(dict.fromkeys(page.problems))
    return rule


def _matching(page: PageReader, table: Mapping[str, Any], key: str, pattern: re.Pattern[str], shape: str) -> str:
    value = page.text_of(table, key, "the front matter")
    if value and not pattern.fullmatch(value):
        page.problem(key, f"{key!r} is {value!r}; it must be {shape}")
    return value


def _checks(page: PageReader, table: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the checks: `check` is one name, or a list if several kinds of evidence show the same."""
    value = table.get("check")
    if isinstance(value, list) and value and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    name = page.text_of(table, "check", "the front matter")
    return (name,) if name else ()


def _params(page: PageReader, table: Any) -> dict[str, Param]:
    if not isinstance(table, dict):
        page.problem("params", "'params' must be tables: [params.NAME]")
        return {}
    return {name: _param(page, name, entry) for name, entry in table.items() if _is_table(page, name, entry)}


def _is_table(page: PageReader, name: str, entry: Any) -> bool:
    if isinstance(entry, dict):
        return True
    page.problem(name, f"parameter {name!r} must be a table: [params.{name}]")
    return False


def _param(page: PageReader, name: str, entry: Mapping[str, Any]) -> Param:
    page.unknown_keys(entry, ("default", "unit", "help"), f"[params.{name}]")
    unit = page.choice(entry, "unit", Unit, Unit.COUNT)
    try:
        default = param_value(unit, entry["default"]) if "default" in entry else None
    except ValueError as error:
        page.problem(name, f"parameter {name!r}: {error}")
        default = None
    return Param(name=name, unit=unit, help=page.text_of(entry, "help", f"[params.{name}]"), default=default)


def param_value(unit: Unit, value: object) -> float | int:
    """A parameter's value in its unit, from its TOML value. Raises `ValueError` with the expected form."""
    if unit is Unit.DURATION:
        if isinstance(value, str):
            return parse_duration(value)
        raise ValueError(f'{value!r} is not a duration; write it as text, for example "5s"')
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number")
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    if value < 0:
        raise ValueError(f"{value!r} is negative")
    if unit in (Unit.COUNT, Unit.BYTES) and not isinstance(value, int):
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _signatures(page: PageReader, entries: Any) -> tuple[Signature, ...]:
    try:
        signatures = convert_to(entries, tuple[Signature, ...])
    except msgspec.ValidationError as error:
        page.problem("signatures", f"'signatures': {error}")
        return ()
    names = [signature.name for signature in signatures]
    for signature in signatures:
        for problem in _signature_problems(signature):
            page.problem("signatures", f"signature {signature.name!r}: {problem}")
        if names.count(signature.name) > 1:
            page.problem("signatures", f"signature {signature.name!r} is defined twice")
    return signatures


def _signature_problems(signature: Signature) -> Iterator[str]:
    """Problems that are found without a search; `signature_problems` of the logs searches."""
    if not _SLUG.fullmatch(signature.name):
        yield "its name must be lower-case words joined by hyphens"
    if len(signature.contains) < _MIN_LEN or not signature.contains.isascii() or not signature.contains.isprintable():
        yield f"'contains' must be at least {_MIN_LEN} printable ASCII characters that stand in every matching line"
    if set(signature.contains) & set('<>&"\\'):
        yield "'contains' must be free of < > & \" and backslashes: container logs escape them"
    if len(set(signature.fields)) != len(signature.fields) or not all(map(_FIELD.fullmatch, signature.fields)):
        yield "'fields' must be different names in lower case"
    unknown = [level for level in signature.levels if level not in _LEVELS]
    if unknown:
        yield f"{unknown[0]!r} is not a level of nats-server: {', '.join(_LEVELS)}"
    if not signature.examples:
        yield "'examples' needs a line that was logged"
    if signature.name in signature.endings:
        yield "it cannot resolve itself"


def _line_findings(page: PageReader, table: Mapping[str, Any]) -> tuple[LineFinding, ...]:
    try:
        lines = convert_to(table.get("lines", []), tuple[LineFinding, ...])
    except msgspec.ValidationError as error:
        page.problem("lines", f"'lines': {error}")
        return ()
    for finding in lines:
        if finding.at_least and finding.at_least not in table.get("params", {}):
            page.problem("lines", f"'lines': no parameter is named {finding.at_least!r}")
    return lines


def _remedy(page: PageReader, table: Any) -> RemedyRef | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        page.problem("remedy", "'remedy' must be a table: [remedy]")
        return None
    page.unknown_keys(table, ("action", "risk"), "[remedy]")
    return RemedyRef(page.text_of(table, "action", "[remedy]"), page.choice(table, "risk", Risk, Risk.MANUAL))


def _explanations(page: PageReader, table: Mapping[str, Any]) -> tuple[Explanation, ...]:
    try:
        explanations = convert_to(table.get("explained_by", []), tuple[Explanation, ...])
    except msgspec.ValidationError as error:
        page.problem("explained_by", f"'explained_by' must be a list of {{ code = ..., link = ... }}: {error}")
        return ()
    if len(set(explanations)) < len(explanations):
        page.problem("explained_by", "'explained_by' names something twice")
    return explanations


def _check_sections(page: PageReader, body: str, body_line: int) -> None:
    headings = [line[3:].strip() for line in body.splitlines() if line.startswith("## ")]
    for section in SECTIONS:
        if section not in headings:
            page.problems.append(f"{page.origin}:{body_line}: the page needs a section '## {section}'")
    present = [heading for heading in headings if heading in SECTIONS]
    if present != [section for section in SECTIONS if section in present]:
        page.problems.append(f"{page.origin}:{body_line}: sections must come in this order: {', '.join(SECTIONS)}")
