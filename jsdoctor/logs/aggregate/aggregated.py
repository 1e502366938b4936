"""What passes between aggregation and assembly, which may be in different processes."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import msgspec

from jsdoctor.model.log import Exemplar, LogTime
from jsdoctor.model.log_scan import Row

FILE, SERVER, RUN, STEP, GAP = "file", "server", "run", "step", "gap"
FALL, ELECTION, OCCURRENCE, TOTAL = "fall", "election", "occurrence", "total"
OMITTED = "omitted"


class Sighting(msgspec.Struct, frozen=True):
    """A server's line that names a new meta leader."""

    server: str
    leader: str
    at: LogTime
    exemplar: Exemplar


class ServerSeen(msgspec.Struct, frozen=True):
    """The facts of one series about a server."""

    name: str
    known_from: str
    cluster: str
    versions: tuple[str, ...]
    files: tuple[str, ...]
    first: LogTime | None
    last: LogTime | None


class Aggregated(NamedTuple):
    """What an analysis found in a series."""

    series: str
    analysis: str
    value: object


_encoder = msgspec.msgpack.Encoder()
_T = TypeVar("_T")


def packed(aggregated: Aggregated) -> Row:
    """The result as a row, which can be sent to another process."""
    return Row(aggregated.series, aggregated.analysis, "", 0, 0, _encoder.encode(aggregated.value))


def read_aggregated(kind: type[_T], row: Row) -> _T:
    """The content of a row that `packed` made."""
    return msgspec.msgpack.decode(row.value, type=kind)
