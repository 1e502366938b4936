"""The configuration file (`jsdoctor.toml`, or `[tool.jsdoctor]` in `pyproject.toml`) to settings, or its mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import tomli

from jsdoctor.configuration.policies import parse_policies
from jsdoctor.model.duration import parse_duration
from jsdoctor.model.finding import Severity
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.policy import Policy
from jsdoctor.model.suppression import Waiver

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
_IN_ENVIRONMENTS = ("severity", "rules")


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
                problems.append(f"{place}: unknown key {key!r}{did_you_mean(key, (*_KEYS, *_IN_ENVIRONMENTS))}")
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


class ConfigurationError(ValueError):
    """A configuration file with mistakes. `problems` lists each as `file:line: what is wrong`."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class RuleSetting(msgspec.Struct, frozen=True):
    """One value of a `[rules.CODE]` table: as TOML gave it, with its line for messages; 0: from the command line."""

    rule: str
    param: str
    value: object
    line: int


NO_OPTIONS: Mapping[str, Callable[[object], object]] = {}


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What a file sets; None is not set. Durations in nanoseconds. `origin` is the file.

    `options` are those of sources, by name, as the command line would have given them.
    """

    origin: str = ""
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    fail_on: Severity | None = None
    contexts: tuple[str, ...] | None = None
    server: str | None = None
    monitor: tuple[str, ...] | None = None
    ntp: tuple[str, ...] | None = None
    samples: int | None = None
    interval_ns: int | None = None
    timeout_ns: int | None = None
    budget: int | None = None
    max_examples: int | None = None
    rule_directories: tuple[str, ...] | None = None
    rule_settings: tuple[RuleSetting, ...] = ()
    baseline: str | None = None
    docs_url: str | None = None
    waivers: tuple[Waiver, ...] = ()
    policies: tuple[Policy, ...] = ()
    severities: SeveritySettings = ()
    environment: str | None = None
    environments: Mapping[str, Environment] = {}
    options: Mapping[str, object] = {}

    @property
    def rule_paths(self) -> tuple[Path, ...]:
        """The directories of rules beside those that jsdoctor has."""
        return tuple(Path(directory) for directory in self.rule_directories or ())


def parse_configuration(
    origin: str, text: str, table: tuple[str, ...] = (), options: Mapping[str, Callable[[object], object]] = NO_OPTIONS
) -> Configuration:
    """Read one file. `table` is where in it the settings are, `options` are those of sources that it may set, by name.

    Raises `ConfigurationError` with every mistake found.
    """
    try:
        settings: Any = tomli.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: numbers too long, arrays too deep
        place = re.search(r"at line (\d+)", str(error))
        raise ConfigurationError([f"{origin}:{place[1] if place else 1}: not TOML: {error}"]) from error
    for name in table:
        settings = settings.get(name, {})
    problems: list[str] = []
    values: dict[str, Any] = {}
    of_sources: dict[str, object] = {}
    for key, value in settings.items():
        line = _line_of(text, key)
        try:
            if key in _TABLES:
                name, parse = _TABLES[key]
                values[name] = parse(origin, text, value, problems)
            elif key in _READERS:
                name, read = _READERS[key]
                values[name] = read(value)
            elif key in options:
                of_sources[key] = options[key](value)
            else:
                names = (*_READERS, *_TABLES, *options)
                problems.append(f"{origin}:{line}: unknown key {key!r}{did_you_mean(key, names)}")
        except ValueError as error:
            problems.append(f"{origin}:{line}: {key!r}: {error}")
    if problems:
        raise ConfigurationError(problems)
    return Configuration(origin=origin, options=of_sources, **values)


def in_environment(config: Configuration, name: str) -> Configuration:
    """The configuration as it applies in an environment. Raises `ConfigurationError` for one that there is not."""
    environment = config.environments.get(name)
    if environment is None:
        where = f" of {config.origin}" if config.origin else ", as no configuration file was read"
        known = f"; the environments{where}: {', '.join(config.environments) or 'none'}"
        near = did_you_mean(name, config.environments)
        raise ConfigurationError([f"no environment is named {name!r}{near or known}"])
    problems: list[str] = []
    settings = tuple(_rule_settings(config.origin, "", environment.rules, problems))
    if problems:
        raise ConfigurationError(problems)
    settings = tuple(msgspec.structs.replace(setting, line=environment.line) for setting in settings)
    changes = {
        key: value
        for key in ("fail_on", "select", "extend_select", "ignore", "baseline")
        if (value := getattr(environment, key)) is not None
    }
    return msgspec.structs.replace(
        config,
        environment=name,
        rule_settings=(*config.rule_settings, *settings),
        severities=(*config.severities, *environment.severities),
        **changes,
    )


def _rule_settings(origin: str, text: str, table: Any, problems: list[str]) -> Iterable[RuleSetting]:
    if not isinstance(table, Mapping):
        problems.append(f"{origin}:{_line_of(text, 'rules')}: 'rules' must hold tables: [rules.JSD403]")
        return
    for rule, params in table.items():
        line = _line_of(text, rule)
        if not isinstance(params, Mapping):
            problems.append(f"{origin}:{line}: 'rules.{rule}' must be a table of parameters: [rules.{rule}]")
            continue
        for param, value in params.items():
            yield RuleSetting(rule, param, value, _line_of(text, param, line))


def _policies(origin: str, text: str, tables: Any, problems: list[str]) -> Iterable[Policy]:
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _POLICIES.match(line)]
    return parse_policies(origin, tables, lines, problems)


def _severities(origin: str, text: str, table: Any, problems: list[str]) -> SeveritySettings:
    place = f"{origin}:{_line_of(text, 'severity')}: 'severity'"
    return parse_severities(table, partial(_line_of, text), problems, place)


def _environments(origin: str, text: str, table: Any, problems: list[str]) -> dict[str, Environment]:
    return parse_environments(table, _READERS, partial(_line_of, text), problems, origin)


def _waivers(origin: str, text: str, tables: Any, problems: list[str]) -> Iterable[Waiver]:
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _SUPPRESS.match(line)]
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        problems.append(f"{origin}:{_line_of(text, 'suppress')}: 'suppress' must hold tables: [[suppress]]")
        return
    for number, table in enumerate(tables):
        line = lines[number] if len(lines) == len(tables) else _line_of(text, "suppress")
        wrong = list(_mistakes(table))
        problems.extend(f"{origin}:{line}: 'suppress': {mistake}" for mistake in wrong)
        if not wrong:
            pattern = table.get("subject", "*")
            yield Waiver(table["rule"], pattern, table["reason"], table["expires"], origin, line)


def _mistakes(table: Mapping[str, Any]) -> Iterable[str]:
    for key, value in table.items():
        if key not in _OF_A_WAIVER:
            yield f"unknown key {key!r}{did_you_mean(key, _OF_A_WAIVER)}"
        elif key == "expires":
            if not isinstance(value, date) or isinstance(value, datetime):
                yield "'expires' must be a day without quotes: expires = 2026-12-31"
        elif not isinstance(value, str) or not value.strip():
            yield f"{key!r} must be a text"
    for key, why in _OF_A_WAIVER.items():
        if why and key not in table:
            yield f"{key!r} is missing: {why}"


_POLICIES = re.compile(r"""^\s*\[\[\s*("?tool"?\s*\.\s*"?jsdoctor"?\s*\.\s*)?"?policies"?\s*\]\]""")
_SUPPRESS = re.compile(r"""^\s*\[\[\s*("?tool"?\s*\.\s*"?jsdoctor"?\s*\.\s*)?"?suppress"?\s*\]\]""")
_OF_A_WAIVER = {
    "rule": "a code, a prefix of codes or a slug",
    "subject": "",
    "reason": "readers of this file need the reason",
    "expires": "the last day on which it holds, such as 2026-12-31",
}
"""The keys of a `[[suppress]]` table, and of those that it must have what to write there."""


def _line_of(text: str, key: str, table: int = 0) -> int:
    """The line of a key or of a table's header; with `table`, the line of that table, it is searched in it alone.

    Where the key has no line of its own, that of the table, else 1.
    """
    pattern = re.compile(rf"""^\s*(\[*[^\]=#]*[.\s])?["']?{re.escape(key)}\b""")
    for number, line in enumerate(text.splitlines(), 1):
        if table and number > table and line.lstrip().startswith("["):
            break
        if number >= table and pattern.match(line):
            return number
    return table or 1


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise ValueError("must be a list of texts")
    return tuple(value)


def _url(value: object) -> str:
    if not re.fullmatch(r"(https?|file)://\S+", _text(value)):
        raise ValueError("must be an address that begins with https://, http:// or file://")
    return _text(value)


def _text_or_texts(value: object) -> tuple[str, ...]:
    texts = _texts(value) if isinstance(value, list) else (_text(value),)
    if not texts:
        raise ValueError("must name one at least")
    return texts


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("must be a whole number, 0 or more")
    return value


def _at_least_one(value: object) -> int:
    if _count(value) < 1:
        raise ValueError("must be 1 or more")
    return _count(value)


def _duration(value: object) -> int:
    return parse_duration(_text(value))


def _severity(value: object) -> Severity:
    names = [severity.value for severity in Severity]
    if value not in names:
        raise ValueError(f"is {value!r}, not one of {', '.join(names)}{did_you_mean(str(value), names)}")
    return Severity(str(value))


_READERS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "select": ("select", _texts),
    "extend-select": ("extend_select", _texts),
    "ignore": ("ignore", _texts),
    "fail-on": ("fail_on", _severity),
    "context": ("contexts", _text_or_texts),
    "server": ("server", _text),
    "monitor": ("monitor", _texts),
    "ntp": ("ntp", _texts),
    "samples": ("samples", _at_least_one),
    "interval": ("interval_ns", _duration),
    "timeout": ("timeout_ns", _duration),
    "budget": ("budget", _at_least_one),
    "max-examples": ("max_examples", _count),
    "rule-directories": ("rule_directories", _texts),
    "baseline": ("baseline", _text),
    "environment": ("environment", _text),
    "docs-url": ("docs_url", _url),
}

_TABLES: dict[str, tuple[str, Callable[[str, str, Any, list[str]], Any]]] = {
    "rules": ("rule_settings", lambda *given: tuple(_rule_settings(*given))),
    "suppress": ("waivers", lambda *given: tuple(_waivers(*given))),
    "policies": ("policies", lambda *given: tuple(_policies(*given))),
    "severity": ("severities", _severities),
    "environments": ("environments", _environments),
}
