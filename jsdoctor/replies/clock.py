"""Offsets of servers' clocks against the local clock, and of that against true time by NTP (RFC 5905).

A server stamps its reply between request and arrival of the reply, so each reading bounds the offset from both sides,
however long each direction took. The offset is what all readings of a server allow; the quickest reply narrows it most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.model.clock import Clocks, NtpTime, Offset, ServerClock
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.reported import Instant
from jsdoctor.model.wording import span
from jsdoctor.replies.decoding import ReplyError, ServerIdentity, decode
from jsdoctor.replies.missing_replies import unreadable
from jsdoctor.replies.opening import Identities

NTP_EPOCH_S = 2_208_988_800
"""1970 in NTP time, which counts from 1900."""
_ERA_S = 1 << 32
"""Seconds after which NTP time starts again from 0, for the first time in 2036."""
MAX_DISTANCE_NS = 1_000_000_000
"""A reply whose root distance exceeds this, in ns, is of no use (RFC 5905: MAXDIST)."""
_SERVER_MODE = 4
_NOT_SYNCHRONISED = 3
_WORST_STRATUM = 15


class NtpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A packet as ntplib reads it, and `sent`, the number in the request. Times are seconds since 1900.

    The number that a reply must repeat is no time but random: only a host that saw the request knows it.
    """

    host: str
    sent: float
    leap: int
    mode: int
    stratum: int
    precision: int
    root_delay: float
    root_dispersion: float
    ref_id: int
    orig_timestamp: float
    recv_timestamp: float
    tx_timestamp: float


class _Vote(msgspec.Struct, frozen=True):
    host: str
    offset: Offset


def ntp_time(exchanges: Iterable[Exchange]) -> tuple[NtpTime | None, list[Gap]]:
    """True time against the local clock, and a gap with the reason for each server whose reply is rejected."""
    votes: dict[str, _Vote] = {}
    gaps: dict[str, Gap] = {}
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.NTP:
            continue
        try:
            answer = decode(exchange.body, NtpAnswer)
        except ReplyError as error:
            gaps[exchange.target] = ntp_gap(exchange.target, f"its reply could not be read: {error}")
            continue
        offset = _offset(answer, exchange)
        if reason := _rejection(answer, exchange, offset):
            gaps[exchange.target] = ntp_gap(exchange.target, reason)
        else:
            votes[exchange.target] = _Vote(exchange.target, offset)
    agreed, more = _agreement(list(votes.values()))
    return agreed, [*(gap for host, gap in gaps.items() if host not in votes), *more]


def ntp_gap(host: str, reason: str, requested: bool = True) -> Gap:
    """The gap for one NTP server."""
    return Gap(
        kind="ntp",
        subject=Subject(kind="cluster", name=f"NTP server {host}"),
        reason=reason,
        how_to_get="name other NTP servers that this machine can reach (--ntp HOST, several times)",
        requested=requested,
    )


def _offset(answer: NtpAnswer, exchange: Exchange) -> Offset:
    """Offset of the NTP server's clock from the local clock, with the error bounds that the server reports.

    The server received the request after it was sent here, and sent the reply before it was received here.
    """
    sent_ns = nanoseconds(exchange.asked_at)
    received_ns = sent_ns + exchange.round_trip_ns
    own_ns = round((answer.root_delay / 2 + answer.root_dispersion + 2.0**answer.precision) * 1e9) + RESOLUTION_NS
    low = _unix_ns(answer.tx_timestamp, sent_ns) - received_ns
    high = _unix_ns(answer.recv_timestamp, sent_ns) - sent_ns
    return Offset(low - own_ns, high + own_ns)


def _unix_ns(ntp_s: float, near_ns: int) -> int:
    """A time since 1900 as one since 1970, in the era that brings it closest to the local clock."""
    moment_s = ntp_s - NTP_EPOCH_S
    eras = round((near_ns / 1e9 - moment_s) / _ERA_S)
    return round((moment_s + eras * _ERA_S) * 1e9)


def _rejection(answer: NtpAnswer, exchange: Exchange, offset: Offset) -> str:
    """Why a reply is rejected; empty for a valid one. Checked first is whether it may be spoofed."""
    if answer.mode != _SERVER_MODE or answer.orig_timestamp != answer.sent:
        return "its reply does not repeat the number that the question carried: it is spoofed, or not for this question"
    if answer.stratum == 0:
        return f"it refuses to serve time (kiss-o'-death {_kiss_code(answer.ref_id)})"
    if answer.leap == _NOT_SYNCHRONISED or answer.stratum > _WORST_STRATUM:
        return f"it says itself that it is not synchronised (leap {answer.leap}, stratum {answer.stratum})"
    held_ns = round((answer.tx_timestamp - answer.recv_timestamp) * 1e9)
    if not answer.recv_timestamp or held_ns < 0 or held_ns > exchange.round_trip_ns + RESOLUTION_NS:
        return "the times in its reply cannot be: they leave no time for the way"
    if offset.bound_ns > MAX_DISTANCE_NS:
        return f"it vouches for its time to no better than {span(offset.bound_ns)}"
    return ""


def _kiss_code(ref_id: int) -> str:
    text = ref_id.to_bytes(4, "big").rstrip(b"\0").decode("ascii", "replace")
    return text if text.isprintable() and text else "without a code"


def _agreement(votes: Sequence[_Vote]) -> tuple[NtpTime | None, list[Gap]]:
    """The offset that most servers agree on (Marzullo's algorithm), and gaps for those that contradict them."""
    if not votes:
        return None, []
    # The largest set of intervals with a point in common has one that begins at some interval's beginning.
    sets = [[v for v in votes if v.offset.low_ns <= start.offset.low_ns <= v.offset.high_ns] for start in votes]
    agreeing = max(sets, key=len)
    outvoted = [vote for vote in votes if vote not in agreeing]
    if 2 * len(agreeing) <= len(votes):
        times = ", ".join(f"{v.host} {_signed(v.offset)}" for v in votes)
        reason = (
            f"the NTP servers contradict each other and none has a majority (this machine's clock against: {times})"
        )
        return None, [ntp_gap(", ".join(vote.host for vote in votes), reason)]
    common = Offset(max(v.offset.low_ns for v in agreeing), min(v.offset.high_ns for v in agreeing))
    gaps = [
        ntp_gap(
            v.host,
            f"it contradicts the {len(agreeing)} others by {_signed(v.offset.against(common))}, and is wrong",
            False,
        )
        for v in outvoted
    ]
    return NtpTime(common, tuple(v.host for v in agreeing), tuple(v.host for v in outvoted)), gaps


def _signed(offset: Offset) -> str:
    return f"{'+' if offset.middle_ns >= 0 else ''}{span(offset.middle_ns)}"


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
    servers = tuple(_server_clock(readings[name]) for name in sorted(readings))
    return (Clocks(servers, complete) if servers else None), gaps


def _reading(exchange: Exchange, reply: _Timed, identities: Identities) -> _ServerReading | None:
    """The offset that a reply shows; None for an error, or a reply without a time or the name of its server."""
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
    """Nanoseconds since 1970, exact to the microsecond."""
    passed = moment - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000_000 + passed.microseconds * 1_000


def _server_clock(readings: Sequence[_ServerReading]) -> ServerClock:
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
    """The offset within the bounds of all readings, and whether there is one.

    If readings contradict each other, a clock was set meanwhile: the result is widened until it touches all of them.
    """
    common = best_first[0]
    contradicting: list[Offset] = []
    for offset in best_first[1:]:
        if offset.low_ns > common.high_ns or offset.high_ns < common.low_ns:
            contradicting.append(offset)
        else:
            common = Offset(max(common.low_ns, offset.low_ns), min(common.high_ns, offset.high_ns))
    low = min([common.low_ns, *(offset.high_ns for offset in contradicting)])
    high = max([common.high_ns, *(offset.low_ns for offset in contradicting)])
    return Offset(low, high), not contradicting
