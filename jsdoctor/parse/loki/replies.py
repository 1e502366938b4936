"""Replies of Loki's HTTP API (`/loki/api/v1/query_range`, `/loki/api/v1/series`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

import msgspec

from jsdoctor.model.typed import decode_as
from jsdoctor.parse.replies import ReplyError

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
    """Time and line, and what the line has beside them."""

    at: str
    line: str
    beside: _Categories = _Categories()


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

    def of_line(self, beside: _Categories) -> dict[str, str]:
        """Those of one line; of most lines none."""
        if not (names := self.metadata & beside.metadata.keys()) and not self.parsed:
            return {}
        parsed = {name: beside.parsed[name] for name in self.parsed & beside.parsed.keys()}
        return {**parsed, **{name: beside.metadata[name] for name in names}}


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
            more = lifted.of_line(value.beside)
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
