"""JSD507: several captures that share no connection, so that nothing was compared."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.packets import PacketEvidence, WhyUnmatched
from jsdoctor.model.params import Params

_REASONS = {
    WhyUnmatched.OTHER_TIME: "they were taken at different times, or the clock of one host is wrong by more than that",
    WhyUnmatched.OTHER_NUMBERS: (
        "the same addresses and ports carry other sequence numbers: a proxy or a renumbering firewall is between them"
    ),
    WhyUnmatched.ONE_SIDED: "one of them has one direction only",
    WhyUnmatched.NOTHING_COMMON: (
        "no connection has the same addresses, nor the same packets under other ones: a proxy is between them, or they"
        " show different connections"
    ),
}


@check("packet_reordering.captures_unmatched")
def captures_unmatched(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each pair of captures that both have connections of NATS."""
    with_nats = {view.tcp.capture for view in views(packets)}
    busy = {number for number in with_nats if packets.captures[number].tcp >= params.integer("packets")}
    for unmatched in packets.unmatched:
        if {unmatched.one, unmatched.other} <= busy:
            two_captures = [packets.captures[number] for number in (unmatched.one, unmatched.other)]
            yield failed(
                _subject(packets, unmatched.one, unmatched.other),
                f"no connection of one was found in the other, so each was judged alone and loss is not exact:"
                f" {_REASONS[unmatched.why]}",
                *(Observation(capture.name, "TCP packets", capture.tcp) for capture in two_captures),
                severity=Severity.INFO if len(packets.captures) > 2 else None,
                measured=(min(capture.tcp for capture in two_captures), params.integer("packets"), "packets"),
            )
    yield from (
        passed(_subject(packets, pair.near, pair.far))
        for pair in {(pair.near, pair.far): pair for pair in packets.pairs}.values()
    )


def _subject(packets: PacketEvidence, result: int, other: int) -> Subject:
    first, second = sorted((result, other))
    return Subject(kind="captures", name=f"{packets.captures[first].name} + {packets.captures[second].name}")
