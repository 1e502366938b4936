"""Parsers of option values for typer: text from the command line to the value that a command takes."""

from __future__ import annotations

import re
from typing import NamedTuple

import typer

from jsdoctor.model.stored import MAX_MESSAGES, ScanTarget
from jsdoctor.parse.configuration import RuleSetting
from jsdoctor.parse.duration import parse_duration


class Named(NamedTuple):
    """A value and what it is for: a setting's name, or a pattern of names of files."""

    name: str
    value: str


def seconds(text: str | float) -> float:
    """A duration as Go writes it, in seconds, for typer."""
    if isinstance(text, int | float):
        return float(text)
    try:
        return parse_duration(text) / 1e9
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def positive_seconds(text: str | float) -> float:
    """The same, but not zero."""
    value = seconds(text)
    if value <= 0:
        raise typer.BadParameter("it must be longer than zero")
    return value


def setting(text: str) -> RuleSetting:
    """A rule's parameter, for typer."""
    try:
        return parse_setting(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def spark_conf(text: str | Named) -> Named:
    """A setting of Spark, for typer."""
    if isinstance(text, Named):
        return text
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter("write it as KEY=VALUE")
    return Named(name.strip(), value)


def server_name(text: str | Named) -> Named:
    """A value for all logs, or for files like a pattern, for typer."""
    if isinstance(text, Named):
        return text
    pattern, equals, value = text.rpartition("=")
    if not value.strip() or (equals and not pattern.strip()):
        raise typer.BadParameter("write it as VALUE or PATTERN=VALUE")
    return Named(pattern.strip() or "*", value.strip())


def timezone(text: str | Named) -> Named:
    """The same for a time zone."""
    named = server_name(text)
    from jsdoctor.parse.logs.lines.stamp import Zone

    try:
        Zone(named.value)
    except ValueError:
        # The whole text: half of `password=…` no longer looks like a secret, so it would not be redacted.
        raise typer.BadParameter(f"no time zone in {text!r}; write it as Europe/Berlin, +02:00 or UTC") from None
    return named


def scan_target(text: str | ScanTarget) -> ScanTarget:
    """A stream to be read, for typer."""
    if isinstance(text, ScanTarget):
        return text
    stream, colon, newest = text.rpartition(":")
    if not (colon and newest.isascii() and newest.isdigit()):
        stream, newest = text, ""
    if not stream or not stream.isprintable() or set(stream) & set(" .*>/\\"):
        raise typer.BadParameter("write it as STREAM or STREAM:N; names of streams have no dots, blanks or wildcards")
    if newest and not 1 <= int(newest) <= MAX_MESSAGES:
        raise typer.BadParameter(f"N must be from 1 to {MAX_MESSAGES}")
    return ScanTarget(stream, int(newest) if newest else None)


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
