"""JSD417: a push consumer with flow control whose subscriber does not respond to it: bound, but gets nothing."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import delivers_by_design_late, is_full, moved, quiet_ns, still_ns, until
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, shown, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted, span


@check("consumer_lag.flow_control_stalled")
def flow_control_stalled(trend: Trend, params: Params) -> Iterator[Finding]:
    """Find consumers that are stalled for longer than a handler takes, as it responds between two messages only.

    Past its window the server sends nothing until the client responds to FlowControl (server: consumer.go deliverMsg).
    """
    still_for = params.integer("still_for")
    for history in trend.consumers():
        last, config = history.last, history.last.config
        by_design = last.paused or is_full(last) or delivers_by_design_late(last)
        if by_design or not (config.is_push and config.flow_control):
            continue
        stalled = all(r.push_bound and r.num_pending > 0 for r in history.readings) and not moved(history)
        if stalled and quiet_ns(last) is None and still_ns(history) < still_for:
            reason = "it got nothing between the samples, and its leader does not know when it last did"
            yield suspected(last.subject, reason, f"run with --interval {still_for // 1_000_000_000 + 1}s")
            continue
        if not stalled:
            yield passed(last.subject)
            continue
        yield _finding(history, still_for)


def _finding(history: ConsumerHistory, still_for: int) -> Finding:
    """A fault; an info while a handler may still work on one message."""
    last = history.last
    early = still_ns(history) < still_for
    moment = until(last, still_for, still_ns(history))
    return failed(
        last.subject,
        f"a subscriber is bound but got nothing for {span(still_ns(history))} with "
        f"{counted(last.num_pending, 'message')} waiting: "
        + (
            f"a handler may work on one message until {moment}"
            if early
            else "it does not respond to flow control, or its server delivers nothing"
        ),
        *shown(last, "push_bound", "config.flow_control", "num_pending", "num_ack_pending", "delivered.consumer_seq"),
        *shown(last, "delivered.last_active"),
        severity=Severity.INFO if early else None,
        confidence=Confidence.LOW if early else Confidence.HIGH,
        measured=(still_ns(history), still_for, "duration"),
        how_to_get=f"look again after {moment}: then it is a fault" if early else "",
    )
