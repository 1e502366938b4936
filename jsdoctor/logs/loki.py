"""Loki: its queries as far as jsdoctor must understand them, its replies, and the lines of one server's log in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import NamedTuple, cast

import msgspec

from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.stamp import ANY_YEAR
from jsdoctor.model.log import DATED_US
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.decoding import ReplyError

_SAMPLED_LINES = 1_000
_NS = 1_000_000_000


def in_order(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Oldest first. Loki may swap lines of one time, even of one stream: then the lines' own times decide.

    A line without a time of its own stays behind the one before it, as those of a stack trace do.
    """
    ordered = sorted(entries, key=lambda entry: entry.at_ns)  # stable: what came in order stays so
    for _, same in groupby(ordered, key=lambda entry: entry.at_ns):
        together = list(same)
        yield from _by_own_time(together) if len(together) > 1 else together


def _by_own_time(entries: Sequence[Entry]) -> list[Entry]:
    last: dict[int, int] = {}
    keys = []
    for entry in entries:
        own = own_time_us(entry.line)
        if own is not None:
            last[entry.stream] = own
        keys.append(last.get(entry.stream, 0))
    return [entry for _, entry in sorted(zip(keys, entries, strict=True), key=lambda pair: pair[0])]


def own_time_us(line: str) -> int | None:
    """The time that a line itself bears; None where it has none with a date."""
    us = read_line(line.encode(errors="replace"), ANY_YEAR).us
    return None if us is None or us < DATED_US else us


def has_own_times(lines: Iterable[str]) -> bool:
    """Whether lines of this log have times. Loki's times are less exact: they may be those at which lines were read."""
    return any(own_time_us(line) is not None for line in islice(lines, _SAMPLED_LINES))


def as_text(entry: Entry, with_time: bool) -> bytes:
    """The line as it stands in a file; with Loki's time before it where it has none of its own."""
    line = entry.line.rstrip("\r\n")
    if with_time:
        seconds, ns = divmod(entry.at_ns, _NS)
        line = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ns:09}Z {line}"
    return line.encode(errors="replace") + b"\n"


LEVELS = frozenset({"level", "severity", "lvl", "log_level", "loglevel", "detected_level", "severity_text", "priority"})
"""Labels for the severity of a line: one server has lines under several values."""

# Without an end, a text in quotes goes to the end of the query: else each \" in it would begin another search.
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|`[^`]*+(?:`|\Z)', re.DOTALL)
_MATCHER = re.compile(r"(?<![\w.])([\w.]++)\s*+(?:=~|!~|!=|=)")
_SHAPING = re.compile(
    r"\s*(?:\|\s*(?:json|logfmt|unpack|regexp|pattern|line_format|label_format|decolorize|drop|keep)\b"
    r"(?:[\s,\w.-]|=(?![=~]))*+)*+"
)
"""Stages that leave no line out. Quoted texts are `Q`."""


class LogQuery(msgspec.Struct, frozen=True):
    """A log query: its stream selector with the braces, and what follows. `filters`: it may leave lines out."""

    selector: str
    pipeline: str
    filters: bool

    @property
    def text(self) -> str:
        """The query as Loki is given it."""
        return self.selector + self.pipeline

    def of_stream(self, labels: Labels, names: Sequence[str]) -> str:
        """The same query for one stream alone. `names` are labels that other streams have."""
        own = dict(labels)
        pairs = sorted({**dict.fromkeys(names, ""), **own}.items())
        matchers = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in pairs)
        return f"{{{matchers}}}{self.pipeline}"


def parse_log_query(text: str) -> LogQuery:
    """Read a query. Raises ValueError for one that selects no streams, such as a metric query."""
    text = text.strip()
    blank = _QUOTED.sub(lambda match: "Q" * len(match[0]), text)
    end = blank.find("}")
    if not text.startswith("{") or end < 0 or "{" in blank[1:end]:
        raise ValueError("it does not begin with a stream selector")
    selector, pipeline = text[: end + 1], text[end + 1 :]
    if "[" in blank[end:]:
        raise ValueError("a metric query gives no log lines")
    by_level = any(name in LEVELS for name in _MATCHER.findall(blank[: end + 1]))
    shapes = _SHAPING.fullmatch(_QUOTED.sub("Q", pipeline))
    return LogQuery(selector, pipeline, by_level or shapes is None)


_HARMLESS = "next-generation Loki query engine"
"""A warning about how the query was executed, not about missing lines."""

_NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

Labels = tuple[tuple[str, str], ...]
"""The labels of a stream, sorted by name."""


class Entry(NamedTuple):
    """One log line, when it was logged as Loki knows it (nanoseconds since 1970), and the number of its stream."""

    at_ns: int
    stream: int
    line: str


class LokiPage(NamedTuple):
    """What one query gave. `streams` are labels of streams, `entries` lines in no particular order.

    A stream of Loki is several here if its lines have different metadata that name servers. `warnings` are those about
    missing lines.
    """

    streams: tuple[Labels, ...]
    entries: list[Entry]
    warnings: tuple[str, ...] = ()


class _Categories(msgspec.Struct, frozen=True, gc=False):
    metadata: dict[str, str] = msgspec.field(default_factory=dict, name="structuredMetadata")
    parsed: dict[str, str] = {}


class _Value(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Time and line, and the metadata of the line."""

    at: str
    line: str
    categories: _Categories = _Categories()


class _LogStream(msgspec.Struct, frozen=True, gc=False):
    stream: dict[str, str] = {}
    values: tuple[_Value, ...] = ()


class _LokiData(msgspec.Struct, frozen=True, rename={"kind": "resultType"}):
    kind: str = ""
    result: msgspec.Raw = msgspec.Raw(b"null")


class _LokiReply(msgspec.Struct, frozen=True):
    status: str = ""
    data: _LokiData | None = None
    error: str = ""
    warnings: tuple[str, ...] | None = None


class _SeriesReply(msgspec.Struct, frozen=True):
    status: str = ""
    data: tuple[dict[str, str], ...] | None = None


class Lifted(NamedTuple):
    """Names of metadata of lines that count as labels of their stream, and of what a query has parsed from them."""

    metadata: frozenset[str] = frozenset()
    parsed: frozenset[str] = frozenset()

    def of_line(self, categories: _Categories) -> dict[str, str]:
        """The metadata and parsed values of one line that count; most lines have none."""
        if not (names := self.metadata & categories.metadata.keys()) and not self.parsed:
            return {}
        parsed = {name: categories.parsed[name] for name in self.parsed & categories.parsed.keys()}
        return {**parsed, **{name: categories.metadata[name] for name in names}}


NOTHING = Lifted()


_STREAMS = cast("type[tuple[_LogStream, ...] | None]", tuple[_LogStream, ...] | None)
"""Loki sends null where nothing was found."""


def log_page(body: bytes, lifted: Lifted = NOTHING) -> LokiPage:
    """The lines in a reply of `query_range`. Raises ReplyError for anything else, metrics included."""
    try:
        reply = decode_as(body, _LokiReply)
    except _NOT_JSON:
        raise ReplyError("this is no reply of the Loki API") from None
    if reply.status != "success" or reply.data is None:
        raise ReplyError(reply.error or "this is no reply of the Loki API")
    if reply.data.kind != "streams":
        raise ReplyError(f"the query gives {reply.data.kind or 'nothing'} and no log lines")
    try:
        streams = decode_as(reply.data.result, _STREAMS) or ()
        numbers: dict[Labels, int] = {}
        entries = list(_entries(streams, lifted, numbers))
    except (*_NOT_JSON, ValueError):
        raise ReplyError("its log lines are not as Loki sends them") from None
    warnings = tuple(warning for warning in reply.warnings or () if _HARMLESS not in warning)
    return LokiPage(tuple(numbers), entries, warnings)


def _entries(streams: Iterable[_LogStream], lifted: Lifted, numbers: dict[Labels, int]) -> Iterator[Entry]:
    """The lines. `numbers` gets the labels of the streams; those of a stream itself outrank those of its lines."""
    for own in streams:
        usual = labels_of(own.stream)
        for value in own.values:
            more = lifted.of_line(value.categories)
            labels = labels_of({**more, **own.stream}) if more else usual
            yield Entry(int(value.at), numbers.setdefault(labels, len(numbers)), value.line)


def series_of_reply(body: bytes) -> tuple[Labels, ...]:
    """The streams in a reply of `series`. Raises ReplyError for anything else."""
    try:
        reply = decode_as(body, _SeriesReply)
    except _NOT_JSON:
        raise ReplyError("this is no reply of the Loki API") from None
    if reply.status != "success":
        raise ReplyError("this is no reply of the Loki API")
    return tuple(dict.fromkeys(map(labels_of, reply.data or ())))


def labels_of(labels: dict[str, str]) -> Labels:
    """Labels in their one order. A label without a value is none, as in Loki."""
    return tuple(sorted((name, value) for name, value in labels.items() if value))
