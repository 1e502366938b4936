"""JSD107, for two captures of one connection: the clocks of the two capturing hosts differ."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.clock_skew.words import difference, doubt
from jsdoctor.checks.registry import check
from jsdoctor.model.clock import Offset
from jsdoctor.model.finding import Finding, Observation, Subject, passed, unknown
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_HOW_TO_KNOW = "capture both directions at both ends, for longer"


@check("clock_skew.capture_pair")
def capture_pair(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By pair of captures: packets that both of them saw bound the offset, and all connections together best."""
    tolerance_ns = params.integer("tolerance")
    for (near, far), offset in _offsets(packets).items():
        one, other = packets.captures[near].name, packets.captures[far].name
        subject = Subject(kind="file", name=other)
        if offset.exceeds(tolerance_ns):
            yield Finding(
                subject=subject,
                message=f"its clock is {difference(offset, f'that of {one}')}, by the packets that both saw: JetStream"
                " does not care; one of them must be shifted before their times are compared",
                measured=offset.middle_ns,
                threshold=tolerance_ns,
                unit="duration",
                uncertainty=offset.bound_ns,
                evidence=(
                    Observation(other, "ahead by at least, ns", offset.low_ns),
                    Observation(other, "ahead by at most, ns", offset.high_ns),
                ),
            )
        elif offset.may_exceed(tolerance_ns):
            yield unknown(subject, f"{doubt(offset, f'that of {one}')}", _HOW_TO_KNOW)
        else:
            yield passed(subject)


def _offsets(packets: PacketEvidence) -> dict[tuple[int, int], Offset]:
    """The narrowest interval of each pair of captures; where connections contradict each other, one that spans them."""
    bounds: dict[tuple[int, int], Offset] = {}
    for pair in packets.pairs:
        if pair.clock_low_ns is None or pair.clock_high_ns is None:
            continue
        known = bounds.get((pair.near, pair.far), Offset(pair.clock_low_ns, pair.clock_high_ns))
        low, high = max(known.low_ns, pair.clock_low_ns), min(known.high_ns, pair.clock_high_ns)
        bounds[pair.near, pair.far] = Offset(min(low, high), max(low, high))
    return bounds
