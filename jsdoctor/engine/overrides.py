"""Parameters and severities that a configuration or the command line sets in place of those of rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from jsdoctor.configuration.file import ConfigurationError, RuleSetting, SeveritySettings
from jsdoctor.engine.select import SelectionError, codes_of, find_rule
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Rule
from jsdoctor.pages.rule_page import param_value


def overrides(
    rules: Sequence[Rule], settings: Iterable[RuleSetting], origin: str
) -> dict[str, dict[str, float | int | None]]:
    """Values by rule code and parameter name, in the parameter's unit. Raises `ConfigurationError` for unknown ones.

    `origin` says where the settings are from: a file, or an option. Settings from a file have a line.
    """
    values: dict[str, dict[str, float | int | None]] = {}
    problems: list[str] = []
    for setting in settings:
        try:
            rule = find_rule(rules, setting.rule)
            if setting.param not in rule.params:
                near = did_you_mean(setting.param, rule.params) or "; it has none" * (not rule.params)
                raise ValueError(f"{rule.code} has no parameter {setting.param!r}{near}")
            values.setdefault(rule.code, {})[setting.param] = param_value(
                rule.params[setting.param].unit, setting.value
            )
        except (SelectionError, ValueError) as error:
            place = f"{origin}:{setting.line}" if setting.line else f"{origin} {setting.rule}.{setting.param}"
            problems.append(f"{place}: {error}")
    if problems:
        raise ConfigurationError(problems)
    return values


def severities_of(settings: SeveritySettings, rules: Sequence[Rule], origin: str) -> dict[str, Severity]:
    """Severities by rule code; of several settings for a rule the last counts. Raises `ConfigurationError`."""
    severities: dict[str, Severity] = {}
    problems: list[str] = []
    for selector, severity, line in settings:
        try:
            severities |= dict.fromkeys(codes_of(rules, [selector], "severity"), severity)
        except SelectionError as error:
            problems.append(f"{origin}:{line}: {error}")
    if problems:
        raise ConfigurationError(problems)
    return severities


def with_severities(results: Iterable[Result], severities: Mapping[str, Severity]) -> tuple[Result, ...]:
    """The results, each failed one with the severity that is set for its rule."""
    return tuple(
        msgspec.structs.replace(result, finding=msgspec.structs.replace(result.finding, severity=severity))
        if (severity := severities.get(result.rule.code)) is not None and result.finding.outcome is Outcome.FAIL
        else result
        for result in results
    )
