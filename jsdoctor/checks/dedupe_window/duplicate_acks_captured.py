"""JSD308, from packets: every acknowledgement that calls a message a duplicate."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packet_reordering.causes import network_trouble
from jsdoctor.checks.packets.publishes import no_publishes, readable_publishers
from jsdoctor.checks.packets.views import View, gravest_of_each, moment
from jsdoctor.checks.packets.words import observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_TEN_MINUTES_NS = 600_000_000_000


@check("dedupe_window.duplicate_acks_captured")
def duplicate_acks_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By stream; of streams with several publishers, the one that repeats itself most."""

    def judge(view: View) -> Finding | None:
        return _finding(view, params) if view.nats.publishing.duplicates else None

    told = list(gravest_of_each(packets, judge, Severity.WARNING))
    yield from told
    if not told:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)


def _finding(view: View, params: Params) -> Finding:
    publishing = view.nats.publishing
    length_ns = max(view.tcp.last_ns - view.tcp.first_ns, 1)
    in_ten_minutes = round(publishing.duplicates * min(1.0, _TEN_MINUTES_NS / length_ns))
    often = in_ten_minutes >= params.integer("burst")
    one = len(publishing.duplicate_streams) == 1
    where = Subject(kind="stream", name=publishing.duplicate_streams[0]) if one else view.subject
    zero = f"; {publishing.unproven:,} with sequence 0, which is no proof that anything is stored"
    return Finding(
        subject=where,
        severity=None if often or publishing.unproven else Severity.INFO,
        message=(
            f"{publishing.duplicates:,} of {publishing.acks:,} acknowledgements say that the message was there already"
            f"{view.who}{zero if publishing.unproven else ''}{_why(view)}"
        ),
        measured=in_ten_minutes,
        threshold=params.integer("burst"),
        unit="count",
        evidence=observed(
            view,
            duplicate_acks=publishing.duplicates,
            with_sequence_0=publishing.unproven,
            retries_seen=publishing.retries,
            streams=", ".join(publishing.duplicate_streams),
        ),
        first_seen=moment(view.tcp.first_ns),
        last_seen=moment(view.tcp.last_ns),
    )


def _why(view: View) -> str:
    publishing = view.nats.publishing
    if not publishing.retries:
        return "; their first copies are not in this capture"
    trouble = network_trouble(view)
    return f"; {trouble}" if trouble else ""
