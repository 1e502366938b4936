"""Replies of NTP servers compared to true time: which of them are valid (RFC 5905), and where those agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from jsdoctor.model.clock import NtpTime, Offset
from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.wording import span
from jsdoctor.parse.clock import RESOLUTION_NS, nanoseconds
from jsdoctor.parse.replies import ReplyError, decode

NTP_EPOCH_S = 2_208_988_800
"""1970 in NTP time, which counts from 1900."""
_ERA_S = 1 << 32
"""NTP time starts again from 0 after so long, for the first time in 2036."""
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
        if reason := _flaw(answer, exchange, offset):
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
    """Offset of the NTP server's clock from the local clock, in ns, with the error bounds that the server reports.

    It received after the local host sent, and sent before the local host received.
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


def _flaw(answer: NtpAnswer, exchange: Exchange, offset: Offset) -> str:
    """Why a reply is rejected; empty for a valid one. Nothing else is read of one that may be spoofed."""
    if answer.mode != _SERVER_MODE or answer.orig_timestamp != answer.sent:
        return "its reply does not repeat the number that the question carried: it is spoofed, or not for this question"
    if answer.stratum == 0:
        return f"it refuses to serve time (kiss-o'-death {_code(answer.ref_id)})"
    if answer.leap == _NOT_SYNCHRONISED or answer.stratum > _WORST_STRATUM:
        return f"it says itself that it is not synchronised (leap {answer.leap}, stratum {answer.stratum})"
    held_ns = round((answer.tx_timestamp - answer.recv_timestamp) * 1e9)
    if not answer.recv_timestamp or held_ns < 0 or held_ns > exchange.round_trip_ns + RESOLUTION_NS:
        return "the times in its reply cannot be: they leave no time for the way"
    if offset.bound_ns > MAX_DISTANCE_NS:
        return f"it vouches for its time to no better than {span(offset.bound_ns)}"
    return ""


def _code(ref_id: int) -> str:
    text = ref_id.to_bytes(4, "big").rstrip(b"\0").decode("ascii", "replace")
    return text if text.isprintable() and text else "without a code"


def _agreement(votes: Sequence[_Vote]) -> tuple[NtpTime | None, list[Gap]]:
    """What most servers allow (Marzullo's algorithm), without those that contradict them."""
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
