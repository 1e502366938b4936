"""Severities that a configuration sets in place of those of rules and their findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from jsdoctor.engine.select import SelectionError, codes_of
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Rule
from jsdoctor.parse.configuration import ConfigurationError
from jsdoctor.parse.environments import SeveritySettings


def severities_of(settings: SeveritySettings, rules: Sequence[Rule], origin: str) -> dict[str, Severity]:
    """The severity of each rule that has one set, by code; later settings count. Raises `ConfigurationError`."""
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
