"""JSD502: data that was retransmitted, where it was lost, and how long its connection stalled."""

from __future__ import annotations

import msgspec

from jsdoctor.checks.packet_reordering.losses import LossFigures, losses
from jsdoctor.checks.packets.views import (
    CONFIDENCE,
    HOW_TO_CAPTURE,
    DirectionView,
    View,
    connection_check,
    lower_bound,
    observed,
    period,
    proves_no_loss,
    why_network_unjudged,
)
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.params import Params

_STALL_PARAMS = {Severity.CRITICAL: "timeout", None: "stall"}
"""The parameter with the limit of a stall, by the severity that it leads to (None: the rule's own)."""
_RATIO_PARAMS = {Severity.CRITICAL: "critical", None: "warn", Severity.INFO: "warn"}
_NOT_WHOLE = "the capture itself lost too much to tell loss in the network from its own"


@connection_check("packet_reordering.packets_lost")
def packets_lost(view: View, params: Params) -> Finding | None:
    """Judge each connection by its worse direction; the message names both."""
    if reason := why_network_unjudged(view):
        return unknown(view.subject, reason, HOW_TO_CAPTURE)
    if any(proves_no_loss(view, flow) for flow in view.tcp.flows):
        return unknown(view.subject, _NOT_WHOLE, HOW_TO_CAPTURE)
    findings = [
        _finding(view, direction, loss, params)
        for direction in view.directions
        if (loss := losses(direction))
        and (direction.flow.retransmission.timeout or loss.stall_ns or loss.share.ratio >= params.number("note"))
    ]
    return _with_other_direction(sorted(findings, key=_rank, reverse=True)) if findings else passed(view.subject)


def _with_other_direction(findings: list[Finding]) -> Finding:
    """The worse direction's finding, which mentions the other direction too."""
    worse, *others = findings
    if not others:
        return worse
    return msgspec.structs.replace(
        worse,
        message="; ".join(finding.message for finding in findings),
        evidence=tuple(observation for finding in findings for observation in finding.evidence),
    )


def _rank(finding: Finding) -> tuple[int, float]:
    return (finding.severity or Severity.WARNING).rank, float(finding.measured or 0)


def _severity(loss: LossFigures, params: Params) -> Severity | None:
    enough = params.integer("enough")
    if loss.doubtful and loss.stall_ns < params.integer("stall"):
        return Severity.INFO
    if loss.share.reaches(params.number("critical"), enough) or loss.stall_ns >= params.integer("timeout"):
        return Severity.CRITICAL
    if loss.share.reaches(params.number("warn"), enough) or loss.stall_ns >= params.integer("stall"):
        return None
    return Severity.INFO


def _finding(view: View, direction: DirectionView, loss: LossFigures, params: Params) -> Finding:
    flow, again = direction.flow, direction.flow.retransmission
    severity = _severity(loss, params)
    by_ratio = loss.share.reaches(params.number(_RATIO_PARAMS[severity]), params.integer("enough"))
    by_stall = severity is not Severity.INFO and not by_ratio
    return failed(
        view.subject,
        f"from {direction.sender} to {direction.receiver} {loss.words}{lower_bound(view, flow)}",
        *observed(
            view,
            direction=f"{direction.sender} to {direction.receiver}",
            distinct_segments=flow.distinct_segments,
            sent_again=again.segments,
            lost_before_the_capture=again.upstream,
            by_timeout=again.timeout,
            fast=again.fast,
            needless=again.needless,
            longest_wait_ns=again.longest_wait_ns,
            waited_ns=again.waited_ns,
            proof="two captures" if loss.exact else flow.proof.value,
        ),
        severity=severity,
        confidence=CONFIDENCE[flow.proof],
        measured=(
            loss.stall_ns if by_stall else loss.share.ratio,
            params.integer(_STALL_PARAMS[severity]) if by_stall else params.number(_RATIO_PARAMS[severity]),
            "duration" if by_stall else "ratio",
        ),
        between=period(view.tcp),
    )
