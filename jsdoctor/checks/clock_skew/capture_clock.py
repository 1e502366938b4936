"""JSD107: the clock that dates stored messages and the clock of the capture differ.

For two captures of one connection: the clocks of the two capturing hosts differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.clock_skew.words import difference, doubt
from jsdoctor.checks.registry import check
from jsdoctor.model.clock import Offset
from jsdoctor.model.finding import Finding, Observation, Subject, failed, passed, unknown
from jsdoctor.model.nats_traffic import StoreClock
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted

_HARM = "JetStream is not affected; times of this capture and of servers' logs must be shifted before they are compared"
_HOW_TO_KNOW = "capture a connection that publishes to a stream and one that is delivered from it, best on the server"


@check("clock_skew.capture_clock")
def capture_clock(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each capture, on the stream whose clock differs most. Captures without JetStream are left out."""
    for reported in packets.nats:
        if reported.clocks:
            subject = Subject(kind="file", name=packets.captures[reported.capture].name)
            yield _judged(subject, reported.clocks, params.integer("tolerance"))


def _judged(subject: Subject, clocks: Sequence[StoreClock], tolerance_ns: int) -> Finding:
    set_or_moved = next((clock for clock in clocks if not clock.steady), None)
    bounded = [(clock, _offset(clock)) for clock in clocks if clock.high_ns is not None]
    ahead = [clock for clock in clocks if clock.high_ns is None and clock.low_ns > tolerance_ns]
    if set_or_moved is not None:
        return _finding(subject, set_or_moved, _offset(set_or_moved), tolerance_ns)
    if wrong := [(clock, offset) for clock, offset in bounded if offset.exceeds(tolerance_ns)]:
        worst, offset = max(wrong, key=lambda pair: abs(pair[1].middle_ns))
        return _finding(subject, worst, offset, tolerance_ns)
    if ahead:
        worst = max(ahead, key=lambda clock: clock.low_ns)
        return _finding(subject, worst, Offset(worst.low_ns, worst.low_ns), tolerance_ns)
    if doubtful := [(clock, offset) for clock, offset in bounded if offset.may_exceed(tolerance_ns)]:
        clock, offset = doubtful[0]
        return unknown(subject, f"the stream {clock.stream}: {doubt(offset, 'that of this capture')}", _HOW_TO_KNOW)
    if bounded:
        return passed(subject)
    reason = f"of the clock that dates {clocks[0].stream} only deliveries tell: it may be behind by any amount"
    return unknown(subject, reason, _HOW_TO_KNOW)


def _offset(clock: StoreClock) -> Offset:
    return Offset(clock.low_ns, clock.low_ns if clock.high_ns is None else clock.high_ns)


def _finding(subject: Subject, clock: StoreClock, offset: Offset, tolerance_ns: int) -> Finding:
    least = "at least " if clock.high_ns is None else ""
    if clock.steady:
        what = f"the clock of the leader of {clock.stream} is {least}{difference(offset, 'that of this capture')}"
    else:
        what = (
            f"the clock that dates {clock.stream} does not keep its distance to that of this capture: one of them was"
            " set, or another server became leader"
        )
    return failed(
        subject,
        f"{what}, by {counted(clock.messages, 'message')}; {_HARM}",
        Observation(subject.name, f"{clock.stream}: ahead by at least, ns", clock.low_ns),
        Observation(subject.name, f"{clock.stream}: ahead by at most, ns", clock.high_ns),
        measured=(offset.middle_ns, tolerance_ns, "duration"),
        uncertainty=offset.bound_ns,
    )


_HOW_TO_KNOW_CAPTURE_PAIR = "capture both directions at both ends, for longer"


@check("clock_skew.capture_pair")
def capture_pair(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge the clock offset of each pair of captures, which the packets that both of them have bound."""
    tolerance_ns = params.integer("tolerance")
    for (near, far), offset in _offsets(packets).items():
        first, second = packets.captures[near].name, packets.captures[far].name
        subject = Subject(kind="file", name=second)
        if offset.exceeds(tolerance_ns):
            yield failed(
                subject,
                f"its clock is {difference(offset, f'that of {first}')}, by the packets that both saw:"
                " JetStream is not affected; one of them must be shifted before their times are compared",
                Observation(second, "ahead by at least, ns", offset.low_ns),
                Observation(second, "ahead by at most, ns", offset.high_ns),
                measured=(offset.middle_ns, tolerance_ns, "duration"),
                uncertainty=offset.bound_ns,
            )
        elif offset.may_exceed(tolerance_ns):
            yield unknown(subject, f"{doubt(offset, f'that of {first}')}", _HOW_TO_KNOW_CAPTURE_PAIR)
        else:
            yield passed(subject)


def _offsets(packets: PacketEvidence) -> dict[tuple[int, int], Offset]:
    """The intersection of all bounds of each pair of captures; if connections contradict each other, the gap."""
    bounds: dict[tuple[int, int], Offset] = {}
    for pair in packets.pairs:
        if pair.clock_low_ns is None or pair.clock_high_ns is None:
            continue
        known = bounds.get((pair.near, pair.far), Offset(pair.clock_low_ns, pair.clock_high_ns))
        low, high = max(known.low_ns, pair.clock_low_ns), min(known.high_ns, pair.clock_high_ns)
        bounds[pair.near, pair.far] = Offset(min(low, high), max(low, high))
    return bounds
