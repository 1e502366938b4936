"""JSD501: packets that arrived late or twice, which cannot change the order of messages."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import (
    CONFIDENCE,
    HOW_TO_CAPTURE,
    ORDER_IS_SAFE,
    DirectionView,
    View,
    connection_check,
    lower_bound,
    observed,
    percent,
    period,
    why_network_unjudged,
)
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.packets import Flow, Reordering
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share
from jsdoctor.model.wording import counted, span


@connection_check("packet_reordering.packets_reordered")
def packets_reordered(view: View, params: Params) -> Finding | None:
    """Judge each connection by its worse direction."""
    if reason := why_network_unjudged(view):
        return unknown(view.subject, reason, HOW_TO_CAPTURE)
    findings = [
        _finding(view, direction, params)
        for direction in view.directions
        if _is_notable(direction.flow, params.number("note"))
    ]
    return max(findings, key=_rank, default=passed(view.subject))


def _is_notable(flow: Flow, note: float) -> bool:
    late = flow.reordering.segments + flow.reordering.downstream
    return late > 0 or (flow.duplicates > 0 and Share(flow.duplicates, flow.distinct_packets).ratio >= note)


def _rank(finding: Finding) -> tuple[bool, float]:
    return finding.severity is None, float(finding.measured or 0)


def _finding(view: View, direction: DirectionView, params: Params) -> Finding:
    flow, enough = direction.flow, params.integer("enough")
    order = flow.reordering
    packets = order.packets or flow.distinct_packets
    late = Share(order.segments, packets)
    harmful = Share(max(order.three_reordered, order.needless_retransmissions), packets)
    duplicated = Share(flow.duplicates, flow.distinct_packets)
    is_harmful = harmful.reaches(params.number("harmful"), enough) or duplicated.reaches(
        params.number("duplicated"), enough
    )
    return failed(
        view.subject,
        f"from {direction.sender} to {direction.receiver} {', '.join(_message_parts(flow, late))}: {ORDER_IS_SAFE}"
        f"{_cost(flow)}{lower_bound(view, flow)}",
        *observed(
            view,
            distinct_segments=flow.distinct_segments,
            **({"at": order.place} if order.place else {}),
            reordered=order.segments,
            reordered_by_three=order.three_reordered,
            needless_retransmissions=order.needless_retransmissions,
            reordered_downstream=order.downstream,
            duplicates=flow.duplicates,
            proof=flow.proof.value,
        ),
        severity=None if is_harmful else Severity.INFO,
        confidence=CONFIDENCE[flow.proof],
        measured=(
            max(harmful.ratio, late.ratio) if late.events else duplicated.ratio,
            params.number("harmful") if late.events else params.number("duplicated"),
            "ratio",
        ),
        between=period(view.tcp),
    )


def _message_parts(flow: Flow, late: Share) -> Iterator[str]:
    order = flow.reordering
    if order.segments:
        yield (
            f"{order.segments:,} of {counted(late.of, 'segment')} ({percent(late.ratio)}) arrived behind"
            f" later ones, by at most {counted(order.extent.largest, 'segment')} and {span(order.late_ns.largest)}"
            f"{_where(order)}"
        )
    if order.downstream:
        yield f"at least {order.downstream:,} changed places behind the capture point"
    if flow.duplicates:
        yield f"{counted(flow.duplicates, 'packet')} arrived twice"


def _where(order: Reordering) -> str:
    """At which interface packets were out of order, if the capture has several."""
    if not order.place:
        return ""
    return f" at {order.place}" + (f", though they were in order at {order.in_order_at}" if order.in_order_at else "")


def _cost(flow: Flow) -> str:
    if needless := flow.reordering.needless_retransmissions:
        return f"; it made the sender send {counted(needless, 'segment')} again for nothing, which costs throughput"
    if flow.reordering.three_reordered:
        return "; it costs throughput, since three segments out of place make senders slow down"
    return ""
