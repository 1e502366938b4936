"""Parameter values from configuration and command line, checked against the rules that declare them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jsdoctor.engine.select import SelectionError, find_rule
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.rule import Rule
from jsdoctor.parse.configuration import ConfigurationError, RuleSetting
from jsdoctor.parse.rule_page import param_value


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
