"""Values of options: from their text to what a request holds. All raise ValueError with what is wrong."""

from __future__ import annotations

import re
from typing import NamedTuple

from jsdoctor.configuration.file import RuleSetting
from jsdoctor.logs.lines.stamp import Zone
from jsdoctor.logs.loki import LogQuery, parse_log_query
from jsdoctor.manifests.conf_tree import integer
from jsdoctor.model.stored import MAX_MESSAGES, ScanTarget


class Named(NamedTuple):
    """A value and what it is for: a setting's name, or a pattern of names of files."""

    name: str
    value: str


def parse_spark_conf(text: str) -> Named:
    """A setting of Spark."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError("write it as KEY=VALUE")
    return Named(name.strip(), value)


def parse_server_name(text: str) -> Named:
    """A value for all logs, or for files like a pattern."""
    pattern, equals, value = text.rpartition("=")
    if not value.strip() or (equals and not pattern.strip()):
        raise ValueError("write it as VALUE or PATTERN=VALUE")
    return Named(pattern.strip() or "*", value.strip())


def parse_timezone(text: str) -> Named:
    """The same for a time zone."""
    named = parse_server_name(text)
    try:
        Zone(named.value)
    except ValueError:
        # The whole text: half of `password=…` no longer looks like a secret, so it would not be redacted.
        raise ValueError(f"no time zone in {text!r}; write it as Europe/Berlin, +02:00 or UTC") from None
    return named


def parse_scan_target(text: str) -> ScanTarget:
    """A stream to be read, and how many of its messages."""
    stream, colon, newest = text.rpartition(":")
    if not (colon and newest.isascii() and newest.isdigit()):
        stream, newest = text, ""
    if not stream or not stream.isprintable() or set(stream) & set(" .*>/\\"):
        raise ValueError("write it as STREAM or STREAM:N; names of streams have no dots, blanks or wildcards")
    if newest and not 1 <= int(newest) <= MAX_MESSAGES:
        raise ValueError(f"N must be from 1 to {MAX_MESSAGES}")
    return ScanTarget(stream, int(newest) if newest else None)


_SIZE = re.compile(r"([0-9]+)([kmgtpe]?(?:i?b|i)?)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes as servers and `nats` read them: 10G is 10 * 10^9, 10GB and 10GiB are 10 * 2^30."""
    match = _SIZE.fullmatch(text.strip())
    size = integer(match[1], match[2] if len(match[2]) > 1 else match[2].strip("bB")) if match else 0
    if not size:
        raise ValueError("write it as 10GiB or 10GB (10 * 2^30 bytes), or as 10G (10 * 10^9)")
    return size


def parse_header(text: str) -> tuple[str, str]:
    """A header of requests. Its value is a secret, which no error message repeats."""
    name, colon, value = text.partition(":")
    valid = name.strip().replace("-", "").isalnum() and (name + value).isascii() and value.strip().isprintable()
    if not (colon and valid):
        raise ValueError("that is no header; write it as 'X-Scope-OrgID: TENANT'")
    return name.strip(), value.strip()


def parse_query(text: str) -> LogQuery:
    """A log query of Loki."""
    try:
        return parse_log_query(text)
    except ValueError as error:
        raise ValueError(f"{error}; write it as '{{app=\"nats\"}}'") from None


def parse_matchers(text: str) -> str:
    """Label matchers of Prometheus, without the braces that people copy with them."""
    return text.strip().removeprefix("{").removesuffix("}").strip().rstrip(",")


EXAMPLE = "JSD401.warn_pending=5000"

_SETTING = re.compile(r"\s*(?P<rule>[^.=\s]+)\.(?P<param>[^.=\s]+)\s*=\s*(?P<value>\S(?:.*\S)?)\s*")
_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")
_DECIMAL = re.compile(r"[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 40
"""A longer text is not read as a number: to convert digits takes longer the more there are."""


def parse_setting(text: str) -> RuleSetting:
    """The setting, its value as a configuration file would give it. Raises `ValueError` with an example."""
    match = _SETTING.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} does not set a parameter; write CODE.PARAM=VALUE, for example {EXAMPLE}")
    return RuleSetting(match["rule"], match["param"], _toml_value(match["value"]), 0)


def _toml_value(text: str) -> object:
    """The number that a configuration file would have; else the text, which the parameter's unit may refuse."""
    if len(text) > _LONGEST_NUMBER:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
