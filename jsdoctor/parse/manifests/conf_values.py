"""Single values in a configuration file of nats-server: strings, numbers with units, dates, addresses, variables."""

from __future__ import annotations

import re
from typing import NamedTuple

from jsdoctor.parse.manifests.tree import Variable

_END = r"(?=[\s;,\]}]|\Z)"
_INTEGER = re.compile(rf"(-?\d+)([kKmMgGtTpPeE][bBiI]*)?{_END}", re.ASCII)
_BEFORE_BRACKET = re.compile(r"\d+\]", re.ASCII)
_FLOAT = re.compile(rf"-?\d+\.\d+{_END}", re.ASCII)
_NEGATIVE = re.compile(r"-\d", re.ASCII)
_DATE_LIKE = re.compile(r"\d{4}-", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_UNQUOTED = re.compile(r"(?:[^\s;,\]}'\\]|\\x[0-9a-fA-F]{2}|\\[tnr\"\\])*")
_ESCAPE = re.compile(r'\\(?:x([0-9a-fA-F]{2})|([tnr"\\]))')
_QUOTED = re.compile(r'"((?:[^"\\]|\\x[0-9a-fA-F]{2}|\\[tnr"\\])*)"')
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
_BOOLEANS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_MAX = (1 << 63) - 1
_SCALE = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_BINARY = ("b", "i", "ib")


class ScannedValue(NamedTuple):
    """A value and where it ends."""

    value: str | int | float | bool | Variable
    end: int


def scan_string(text: str, start: int) -> ScannedValue:
    """A quoted string. Only double quotes know escapes. Raises `ValueError` when it does not end."""
    if text[start] == "'":
        end = text.find("'", start + 1)
        if end < 0:
            raise ValueError("a string does not end")
        return ScannedValue(text[start + 1 : end], end + 1)
    match = _QUOTED.match(text, start)
    if match is None:
        raise ValueError('a string does not end, or has an escape other than \\xXX, \\t, \\n, \\r, \\" and \\\\')
    return ScannedValue(_unescaped(match[1]), match.end())


def scan_unquoted(text: str, start: int) -> ScannedValue:
    """Anything else: a number where it is one, a word of yes or no, a variable, else a string.

    Raises `ValueError` for numbers that are too large and for what starts like a number or date and is none.
    """
    if _BEFORE_BRACKET.match(text, start):
        raise ValueError("a number right before ']', which the server takes for a part of it; put a space between them")
    if match := _INTEGER.match(text, start):
        return ScannedValue(integer(match[1], match[2] or ""), match.end())
    if match := _FLOAT.match(text, start):
        return ScannedValue(float(match[0]), match.end())
    if text[start] == "." or (text[start] == "-" and not _NEGATIVE.match(text, start)):
        raise ValueError("a number must have a digit first")
    if _DATE_LIKE.match(text, start) and not _DATE.match(text, start):
        raise ValueError("what looks like a date must be one in full, as 2026-11-21T10:00:00Z; else quote it")
    return _word(text, start)


def _word(text: str, start: int) -> ScannedValue:
    match = _UNQUOTED.match(text, start)
    end = match.end() if match else start
    raw = text[start:end]
    if text[end : end + 1] == "\\":
        raise ValueError('an escape other than \\xXX, \\t, \\n, \\r, \\" and \\\\')
    if text[end : end + 1] == "'":
        end += 1
    if "\\" not in raw:
        if raw.lower() in _BOOLEANS:
            return ScannedValue(_BOOLEANS[raw.lower()], end)
        if raw.startswith("$"):
            return ScannedValue(Variable(raw[1:]), end)
    return ScannedValue(_unescaped(raw), end)


def integer(digits: str, suffix: str) -> int:
    """A number with its unit: `k` is 1000, `kb`, `ki` and `kib` are 1024. Raises `ValueError` past 64 bits."""
    unit, rest = suffix[:1].lower(), suffix[1:].lower()
    if rest and rest not in _BINARY:
        raise ValueError("a number with a unit that is none; write it as 10GB or 10Gi")
    if len(digits) > len(str(_MAX)) + 1 or abs(int(digits)) > _MAX:
        raise ValueError("a number that is too large")
    return int(digits) * int((1024 if rest else 1000) ** _SCALE[unit])


def _unescaped(raw: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED[match[2]], raw)
