"""Offsets of servers' clocks against the local clock, from readings.

A server stamps its reply between request and arrival of the reply, so each reading bounds the offset from both sides,
however long each direction took. The offset is what all readings of a server allow; the quickest reply narrows it most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.model.clock import Clocks, Offset, ServerClock
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.reported import Instant
from jsdoctor.parse.missing_replies import unreadable
from jsdoctor.parse.opening import Identities
from jsdoctor.parse.replies import ReplyError, ServerIdentity, decode

RESOLUTION_NS = 2_000
"""Both times of a reading are kept in whole microseconds, so each may be off by one."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Timed(msgspec.Struct, frozen=True):
    """Where replies have the time: in `server` (system requests), `ts` (STREAM.INFO), `now` (HTTP)."""

    server: ServerIdentity | None = None
    ts: Instant | None = None
    now: Instant | None = None
    server_name: str = ""
    version: str = ""
    cluster: Cluster | None = None


class _ServerReading(msgspec.Struct, frozen=True):
    server: str
    cluster: str
    version: str
    at: datetime
    offset: Offset
    source: str


def clocks_of(exchanges: Iterable[Exchange], identities: Identities | None = None) -> tuple[Clocks | None, list[Gap]]:
    """The clocks that the CLOCK exchanges of a run show, and a gap for each reply that could not be read."""
    identities = identities or Identities()
    readings: dict[str, list[_ServerReading]] = defaultdict(list)
    gaps: list[Gap] = []
    complete = False
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.CLOCK:
            continue
        try:
            reading = _reading(exchange, decode(exchange.body, _Timed), identities)
        except ReplyError as error:
            gaps.append(unreadable(exchange, error))
            continue
        if reading is not None:
            readings[reading.server].append(reading)
            complete = complete or exchange.access is Access.SYSTEM
    servers = tuple(_clock(readings[name]) for name in sorted(readings))
    return (Clocks(servers, complete) if servers else None), gaps


def _reading(exchange: Exchange, reply: _Timed, identities: Identities) -> _ServerReading | None:
    """None for an error, or a reply that does not name the server whose time it has."""
    named = reply.server or ServerIdentity()
    leader = reply.cluster or Cluster()
    server = identities.name(named) or reply.server_name or leader.leader
    at = named.time or reply.now or reply.ts
    if not server or at is None:
        return None
    offset = offset_between(at, exchange.asked_at, exchange.round_trip_ns)
    return _ServerReading(server, named.cluster or leader.name, named.ver or reply.version, at, offset, exchange.target)


def offset_between(theirs: datetime, asked_at: datetime, round_trip_ns: int) -> Offset:
    """The bounds of one reading: the server's clock showed `theirs` at some moment of the round trip."""
    ahead_when_asked = nanoseconds(theirs) - nanoseconds(asked_at)
    return Offset(ahead_when_asked - round_trip_ns - RESOLUTION_NS, ahead_when_asked + RESOLUTION_NS)


def nanoseconds(moment: datetime) -> int:
    """Since 1970, exact to the microsecond that a `datetime` can hold."""
    passed = moment - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000_000 + passed.microseconds * 1_000


def _clock(readings: Sequence[_ServerReading]) -> ServerClock:
    best_first = sorted(readings, key=lambda reading: reading.offset.bound_ns)
    best = best_first[0]
    offset, steady = _narrowed([reading.offset for reading in best_first])
    return ServerClock(
        name=best.server,
        cluster=next((reading.cluster for reading in readings if reading.cluster), ""),
        version=next((reading.version for reading in readings if reading.version), ""),
        offset=offset,
        at=best.at,
        readings=len(readings),
        steady=steady,
        source=best.source,
    )


def _narrowed(best_first: Sequence[Offset]) -> tuple[Offset, bool]:
    """What all readings allow. Where some contradict the others a clock was set meanwhile: as far as is needed to
    reach them, the result is widened again, so that it vouches for nothing that some reading denies.
    """
    common = best_first[0]
    denying: list[Offset] = []
    for offset in best_first[1:]:
        if offset.low_ns > common.high_ns or offset.high_ns < common.low_ns:
            denying.append(offset)
        else:
            common = Offset(max(common.low_ns, offset.low_ns), min(common.high_ns, offset.high_ns))
    low = min([common.low_ns, *(offset.high_ns for offset in denying)])
    high = max([common.high_ns, *(offset.low_ns for offset in denying)])
    return Offset(low, high), not denying
