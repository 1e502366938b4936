"""`[severity]` and `[environments.NAME]` of the configuration file: what counts how much, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from jsdoctor.model.finding import Severity
from jsdoctor.model.nearest import did_you_mean

SeveritySettings = tuple[tuple[str, Severity, int], ...]
"""Of each rule, by code, prefix of codes or slug: its severity, and the line that sets it."""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What differs in one environment. None and empty: as for all."""

    fail_on: Severity | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    baseline: str | None = None
    severities: SeveritySettings = ()
    rules: Mapping[str, Any] = {}
    line: int = 0


_KEYS = ("fail-on", "select", "extend-select", "ignore", "baseline")
_TABLES = ("severity", "rules")


def parse_severities(table: Any, line_of: Callable[[str], int], problems: list[str], place: str) -> SeveritySettings:
    """The settings of a `[severity]` table; mistakes are added to `problems`. `place` is the file and the table."""
    if not isinstance(table, Mapping):
        problems.append(f'{place}: must be a table of rules: JSD601 = "info"')
        return ()
    names = [severity.value for severity in Severity]
    settings = []
    for rule, value in table.items():
        if value in names:
            settings.append((rule, Severity(value), line_of(rule)))
        else:
            near = did_you_mean(str(value), names)
            problems.append(f"{place}: {rule!r} is {value!r}, not one of {', '.join(names)}{near}")
    return tuple(settings)


def parse_environments(
    table: Any,
    readers: Mapping[str, tuple[str, Callable[[object], Any]]],
    line_of: Callable[[str], int],
    problems: list[str],
    origin: str,
) -> dict[str, Environment]:
    """Environments by name; mistakes are added to `problems`. `readers` are those of the keys of the file itself."""
    if not isinstance(table, Mapping):
        problems.append(f"{origin}:{line_of('environments')}: 'environments' must hold tables: [environments.staging]")
        return {}
    environments = {}
    for name, settings in table.items():
        line = line_of(name)
        place = f"{origin}:{line}: 'environments.{name}'"
        if not isinstance(settings, Mapping):
            problems.append(f"{place} must be a table: [environments.{name}]")
            continue
        values: dict[str, Any] = {"line": line}
        for key, value in settings.items():
            if key == "severity":
                values["severities"] = parse_severities(value, partial(_line_below, line_of, line), problems, place)
            elif key == "rules":
                values["rules"] = value if isinstance(value, Mapping) else {}
                if not isinstance(value, Mapping):
                    problems.append(f"{place}: 'rules' must hold tables: [environments.{name}.rules.JSD403]")
            elif key not in _KEYS:
                problems.append(f"{place}: unknown key {key!r}{did_you_mean(key, (*_KEYS, *_TABLES))}")
            else:
                attribute, read = readers[key]
                try:
                    values[attribute] = read(value)
                except ValueError as error:
                    problems.append(f"{place}: {key!r}: {error}")
        environments[name] = Environment(**values)
    return environments


def _line_below(line_of: Callable[[str], int], line: int, name: str) -> int:
    """The line of a name, or of its table where the name stands within a line."""
    return max(line_of(name), line)
