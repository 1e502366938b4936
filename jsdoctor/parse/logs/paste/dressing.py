"""What tools and people put around a pasted line, taken off."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from jsdoctor.parse.logs.paste.times import dated

Knows = Callable[[str], bool]
"""Whether a text is a line of a server, or a message that some signature knows."""

_CHARACTERS = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u00a0": " ",
        "\u202f": " ",
        "\u200b": None,
        "\u200c": None,
        "\u200d": None,
        "\u2060": None,
        "\ufeff": None,
    }
)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_ESCAPED = re.compile(r"\\+u00(?P<code>3[ce]|26|27)")
"""What encoders of JSON write for the signs that HTML reserves; a line that was encoded twice keeps them."""
_TAG = re.compile(
    r"</?(?:pre|code|div|p|li|ul|span|br|td|tr|table|tbody|b|i|em|strong|samp|log|message)\b[^<>]{0,200}/?>"
)
_LAYERS = (
    re.compile(r"\s*(?:>\s?)+(?=\S)"),  # Markdown and mail quotes
    re.compile(r"\s*(?:[-*+•‣◦]|\d{1,4}[.)])\s+(?=\S)"),  # lists
    re.compile(r"\s*[\w./@~-]*[./][\w.@~-]+[:-](?:\d{1,9}[:-])?(?=\S)"),  # grep -H, with -n
    re.compile(r"\s*[A-Za-z][\w.-]{0,60}:\d{1,9}[:-](?=\S)"),
    re.compile(r"\s*\d{1,9}[:-](?!\d\d:)(?=\S)"),  # grep -n
    re.compile(r"\s*\d{1,7}\s*[|│:→]\s*(?=\S)"),  # numbered lines
    re.compile(r"\s*\d{1,7}(?:\t|\s+)(?=[\[A-Z\d])"),
    re.compile(r"\s*Line\s+\d+\s*[:|]?\s*"),
    re.compile(r"\s*`{1,3}(?=\S)"),
    re.compile(r"\s*\[\d{1,10}\]\s+(?=\S)"),  # a process id, the level cut away
    re.compile(r"\s*[|│]\s*"),
    re.compile(r"[ \t]+"),
    re.compile(r"\s*(?:nats|nats-server|stderr|stdout|log|kernel)\s+(?=\S)"),
    re.compile(r"\s*(?:UTC|GMT|[A-Z]{3,4})\s*(?=\[)"),
)
_TIME = re.compile(
    r"\s*\[?((?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\]?\s*[|,:-]?\s+"
)
_NAME = re.compile(
    r"\s*[\[(]?(?:pod/)?(?P<name>[A-Za-z][A-Za-z\d]*(?:[-.][A-Za-z\d]+)*(?:/[\w.-]+)?)[\])]?\s*(?:[:|>│→]|\s)\s*(?=\S)"
)
_LEVELS = {
    "WARN": "WRN",
    "WARNING": "WRN",
    "ERROR": "ERR",
    "INFO": "INF",
    "FATAL": "FTL",
    "DEBUG": "DBG",
    "TRACE": "TRC",
}
_LEVEL = re.compile(
    r"\s*[\[(<]?(?P<level>(?i:WARNING|WARN|WRN|ERROR|ERR|INFO|INF|FATAL|FTL|DEBUG|DBG|TRACE|TRC))[\])>]?\s*[:|-]?\s+"
)
# Each begins where nothing of its kind stands before it: else the time goes by the square of a run of blanks or ticks.
_NOTE = re.compile(r"(?<!\s)\s+(?:<-+|<=+|←|⟵|<<+|👈|\^\^+|//|##?)\s.*$")
_TICKS = re.compile(r"(?<!`)`+\s*$")
_MAX = 8


def plain(line: str) -> str:
    """Quotes, blanks and entities as a server writes them, and no tags."""
    if "&" in line:
        line = _ENTITY.sub(lambda match: html.unescape(match[0]), line)
    line = line.translate(_CHARACTERS) if not line.isascii() else line
    line = _TAG.sub("", line) if "<" in line else line
    return _ESCAPED.sub(lambda match: chr(int(match["code"], 16)), line) if "\\u00" in line else line


def begins_with_time(line: str, year: int) -> bool:
    """Whether a line begins with a time, as those of logs do."""
    return _TIME.match(line) is not None or dated(line, year) is not None


def undressed(line: str, year: int, knows: Knows) -> str:
    """The line that a server wrote, in a `plain` one; the line as it is when there is none in it."""
    if knows(line):
        return _TICKS.sub("", _without_note(line, knows))
    for probe, candidate in _candidates(line, year):
        if knows(probe):
            return _TICKS.sub("", _without_note(candidate, knows))
    return line


def _without_note(line: str, knows: Knows) -> str:
    shorter = _NOTE.sub("", line)
    return shorter if shorter != line and knows(shorter) else line


def _candidates(line: str, year: int) -> Iterator[tuple[str, str]]:
    """Readings of a line, each with one more layer taken off: what must be known of it, and the line to be read.

    Names, times and levels that were found go back in front. A level that a viewer wrote in its own way proves nothing.
    """
    name, time, level, rest = "", "", "", line
    for _ in range(_MAX):
        timed = dated(rest, year)
        usual = _TIME.match(rest)
        if not time and usual and timed is None:
            time, rest = usual[1], rest[usual.end() :]
            yield rest, _again(name, time, level, rest)
            continue
        if not time and timed is not None:
            time, _, rest = timed.partition(" ")
            yield rest, _again(name, time, level, rest)
            continue
        for layer in _LAYERS:
            match = layer.match(rest)
            if match and match.end():
                rest = rest[match.end() :]
                break
        else:
            match = _LEVEL.match(rest)
            if match:
                word = match["level"].upper()
                level, rest = _LEVELS.get(word, word), rest[match.end() :]
            else:
                match = _NAME.match(rest)
                if not match or name:
                    return
                name, rest = match["name"].partition("/")[0], rest[match.end() :]
        yield rest, _again(name, time, level, rest)


def _again(name: str, time: str, level: str, rest: str) -> str:
    front = f"{name} | " if name else ""
    return f"{front}{time + ' ' if time else ''}{f'[{level}] ' if level and not rest.startswith('[') else ''}{rest}"
