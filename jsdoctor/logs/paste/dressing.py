"""Removes what tools and people put around a pasted line."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from jsdoctor.logs.lines.stamp import LogYear

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
_MAX_LAYERS = 8


def plain(line: str) -> str:
    """The line with quotes, blanks and entities as a server writes them, and without tags."""
    if "&" in line:
        line = _ENTITY.sub(lambda match: html.unescape(match[0]), line)
    line = line.translate(_CHARACTERS) if not line.isascii() else line
    line = _TAG.sub("", line) if "<" in line else line
    return _ESCAPED.sub(lambda match: chr(int(match["code"], 16)), line) if "\\u00" in line else line


def begins_with_time(line: str, year: LogYear) -> bool:
    """Whether a line begins with a time, as those of logs do."""
    return _TIME.match(line) is not None or dated(line, year) is not None


def undressed(line: str, year: LogYear, knows: Knows) -> str:
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


def _candidates(line: str, year: LogYear) -> Iterator[tuple[str, str]]:
    """Readings of a line, each with one more layer removed: the text that must be known, and the line if it is.

    In the line, the names, times and levels that were removed are in front of the text again.
    """
    name, time, level, rest = "", "", "", line
    for _ in range(_MAX_LAYERS):
        timed = dated(rest, year)
        usual = _TIME.match(rest)
        if not time and usual and timed is None:
            time, rest = usual[1], rest[usual.end() :]
            yield rest, _rebuilt(name, time, level, rest)
            continue
        if not time and timed is not None:
            time, _, rest = timed.partition(" ")
            yield rest, _rebuilt(name, time, level, rest)
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
        yield rest, _rebuilt(name, time, level, rest)


def _rebuilt(name: str, time: str, level: str, rest: str) -> str:
    front = f"{name} | " if name else ""
    return f"{front}{time + ' ' if time else ''}{f'[{level}] ' if level and not rest.startswith('[') else ''}{rest}"


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))? ?(?P<half>[AaPp]\.?[Mm]\.?)?"
_END = r"(?=$|[\s|\]:,]) *[|\]:,]?\s*"
_FORMS = tuple(
    re.compile(r"\s*\[?" + form + _END)
    for form in (
        # Kibana, Grafana, Elastic: Nov 21, 2026 @ 10:00:00.123
        r"(?P<mon>[A-Za-z]{3})[a-z]* (?P<d>\d{1,2}),? (?P<y>\d{4})(?:,| @| at)? " + _CLOCK,
        # 21 Nov 2026 10:00:00, 21/Nov/2026:10:00:00
        r"(?P<d>\d{1,2})[ /-](?P<mon>[A-Za-z]{3})[a-z]*[ /-](?P<y>\d{4})[ :,]+" + _CLOCK,
        # Datadog: Nov 21 10:00:00.123
        r"(?P<mon>[A-Za-z]{3}) {1,2}(?P<d>\d{1,2}),? " + _CLOCK,
        r"(?P<y>\d{4})/(?P<mo>\d\d)/(?P<d>\d\d)[ T]" + _CLOCK,
        # Splunk and spreadsheets: 11/21/26 10:00:00.123 AM, 21.11.2026 10:00:00
        r"(?P<a>\d{1,2})[/.](?P<b>\d{1,2})[/.](?P<y>\d{2}|\d{4}),? " + _CLOCK,
    )
)
_EPOCH = re.compile(r"\s*(1\d{9})(\d{3}|\d{6}|\d{9})?" + _END)


def dated(line: str, year: LogYear) -> str | None:
    """The line with its first time as `YYYY-MM-DDThh:mm:ss.ffffff`; None when it does not begin with such a time."""
    for form in _FORMS:
        match = form.match(line)
        at = _moment(match.groupdict(), year) if match else None
        if match and at:
            return f"{at:%Y-%m-%dT%H:%M:%S.%f} {line[match.end() :]}"
    epoch = _EPOCH.match(line)
    if epoch:
        return f"{datetime.fromtimestamp(int(epoch[1]), UTC):%Y-%m-%dT%H:%M:%S}Z {line[epoch.end() :]}"
    return None


def _moment(fields: dict[str, str | None], year: LogYear) -> datetime | None:
    name = fields.get("mon")
    day, month = fields.get("d"), str(_MONTHS.index(name.lower()) + 1) if name and name.lower() in _MONTHS else None
    month = fields.get("mo") or month
    if fields.get("a"):  # the month comes first, unless it cannot
        month, day = fields["a"], fields["b"]
        if int(month or 0) > 12:
            month, day = day, month
    hour = int(fields["h"] or 0)
    half = (fields["half"] or "")[:1].lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    of_year = int(fields.get("y") or year.of(int(month or 0)))
    fraction = ((fields["f"] or "") + "000000")[:6]
    try:
        return datetime(
            of_year + 2000 * (of_year < 100),
            int(month or 0),
            int(day or 0),
            hour,
            int(fields["m"] or 0),
            int(fields["s"] or 0),
            int(fraction),
            tzinfo=UTC,
        )
    except ValueError:
        return None
