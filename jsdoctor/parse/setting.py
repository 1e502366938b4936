"""A rule's parameter as it is set on the command line: `JSD401.warn_pending=5000`."""

from __future__ import annotations

import re

from jsdoctor.parse.configuration import RuleSetting

EXAMPLE = "JSD401.warn_pending=5000"

_SETTING = re.compile(r"\s*(?P<rule>[^.=\s]+)\.(?P<param>[^.=\s]+)\s*=\s*(?P<value>\S(?:.*\S)?)\s*")
_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")
_DECIMAL = re.compile(r"[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?")
_MAX = 40


def parse_setting(text: str) -> RuleSetting:
    """The setting, its value as a configuration file would give it. Raises `ValueError` with an example."""
    match = _SETTING.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} does not set a parameter; write CODE.PARAM=VALUE, for example {EXAMPLE}")
    return RuleSetting(match["rule"], match["param"], _value(match["value"]), 0)


def _value(text: str) -> object:
    """Digits alone are a number, as in TOML; what is too long to be meant as one stays text, and is refused."""
    if len(text) > _MAX:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
