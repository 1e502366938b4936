"""JSD404: messages wait, clients wait for messages, and the server delivers none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from jsdoctor.checks.consumer_lag.progress import (
    Key,
    delivers_by_design_late,
    is_full,
    moved,
    still_ns,
    unserved_since,
    until,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, compared, failed, passed, shown, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted, span

_MIN_SAMPLE_S = 1.0
"""Two samples closer than this do not distinguish a stuck server from a slow one."""


@check("consumer_lag.no_progress")
def no_progress(trend: Trend, params: Params) -> Iterator[Finding]:
    """Find waiting clients that are not served, which takes milliseconds (server: consumer.go loopAndGatherMsgs).

    Full, paused, rate-limited, replaying and prioritised consumers hold messages back by design; a push consumer with
    flow control waits for its subscriber, which is another rule.
    """
    still_for = params.integer("still_for")

    @cache
    def served() -> set[Key]:
        """Account, stream and leader of the consumers that are delivered new messages."""
        pairs = ((history.first, history.last) for history in trend.consumers())
        served = ((a, b) for a, b in pairs if b.delivered.stream_seq > a.delivered.stream_seq)
        return {(last.account, last.stream, last.answered_by) for _, last in served}

    for history in trend.consumers():
        last, config = history.last, history.last.config
        if _waits_for_pinned(history):
            long = still_ns(history) >= still_for + last.config.ack_wait_ns
            yield _pinned_finding(history, still_for) if long else _pinned_may_work(history, still_for)
            continue
        if _waits_for_overflow(history, still_for):
            yield _overflow_finding(history, still_for)
            continue
        by_design = last.paused or is_full(last) or delivers_by_design_late(last)
        if by_design or (config.is_push and config.flow_control):
            continue
        samples = [
            r.num_pending > 0 and (r.push_bound if config.is_push else r.num_waiting > 0) for r in history.readings
        ]
        nothing_left = last.delivered.stream_seq >= history.stream.state.last_seq
        if not samples[-1] or nothing_left or moved(history):
            yield passed(last.subject)
        elif still_ns(history) < still_for or history.elapsed_s < _MIN_SAMPLE_S or not all(samples):
            still = "messages and clients wait and nothing was delivered, but not for long enough to tell"
            yield suspected(last.subject, still, f"run with --interval {still_for // 1_000_000_000 + 1}s")
        else:
            others = (last.account, last.stream, last.answered_by) in served()
            yield _finding(history, still_for, others)


def _waits_for_pinned(history: ConsumerHistory) -> bool:
    """Whether clients wait for messages that belong to a pinned client, and that client does not pull."""
    if history.last.config.priority_policy != "pinned_client":
        return False
    pins = {tuple(group.pinned_client_id for group in reading.priority_groups) for reading in history.readings}
    return (
        not history.last.paused
        and len(pins) == 1
        and any(pins.pop())
        and all(reading.num_pending > 0 and reading.num_waiting > 0 for reading in history.readings)
        and not moved(history)
    )


def _waits_for_overflow(history: ConsumerHistory, still_for: int) -> bool:
    """Whether messages and clients wait, and all clients may be ones that are served above a backlog only.

    A client without such a threshold is served at once, so unacknowledged messages would show.
    """
    last = history.last
    return (
        last.config.priority_policy == "overflow"
        and not last.paused
        and not is_full(last)
        and all(r.num_pending > 0 and r.num_waiting > 0 and not r.num_ack_pending for r in history.readings)
        and not moved(history)
        and still_ns(history) >= still_for
    )


def _overflow_finding(history: ConsumerHistory, still_for: int) -> Finding:
    last = history.last
    return failed(
        last.subject,
        f"{counted(last.num_pending, 'message')} and {counted(last.num_waiting, 'pull request')} wait, and nothing"
        f" was delivered for {span(still_ns(history))}: with priority policy overflow, a request that has a"
        " min_pending or min_ack_pending is served above it only, and no other one came",
        *shown(last, "num_pending", "num_waiting", "config.priority_policy"),
        severity=Severity.INFO,
        measured=(still_ns(history), still_for, "duration"),
        remedy={"action": "consumer.inspect"},
    )


def _pinned_may_work(history: ConsumerHistory, still_for: int) -> Finding:
    """A suspicion: until `ack_wait` is over the pinned client may work on what it holds."""
    moment = until(history.last, still_for + history.last.config.ack_wait_ns, still_ns(history))
    return suspected(
        history.last.subject,
        f"messages and clients wait for a client that the server has pinned and that got nothing for"
        f" {span(still_ns(history))}: it may work on what it holds until {moment}",
        f"look again after {moment}",
    )


def _pinned_finding(history: ConsumerHistory, still_for: int) -> Finding:
    last, config = history.last, history.last.config
    return failed(
        last.subject,
        f"{counted(last.num_pending, 'message')} and {counted(last.num_waiting, 'pull request')} wait for a client"
        f" that the server has pinned, that holds {counted(last.num_ack_pending, 'message')} without an"
        f" acknowledgement, and that was delivered nothing for {span(still_ns(history))}: the others get"
        f" nothing until the server unpins it, {span(config.priority_timeout_ns)} after its last request",
        *shown(last, "num_pending", "num_waiting"),
        last.observed("priority_groups.pinned_client_id", [g.pinned_client_id for g in last.priority_groups]),
        last.observed("config.priority_timeout", config.priority_timeout_ns),
        severity=Severity.INFO,
        measured=(still_ns(history), still_for + config.ack_wait_ns, "duration"),
        remedy={"action": "consumer.inspect"},
    )


def _finding(history: ConsumerHistory, still_for: int, others: bool) -> Finding:
    last, clustered = history.last, bool(history.last.cluster and history.last.cluster.replicas)
    clients = "a subscriber" if last.config.is_push else counted(last.num_waiting, "pull request")
    return failed(
        last.subject,
        f"{counted(last.num_pending, 'message')} and {clients} wait, yet nothing was delivered for "
        f"{span(still_ns(history))}: the fault is the server's, not the clients'; "
        + (
            f"other consumers of the stream get theirs from {last.answered_by}: it is the state of this one"
            if others
            else f"{last.answered_by} delivered nothing of this stream meanwhile: see its store first"
        ),
        last.observed("num_pending", last.num_pending),
        last.observed("push_bound" if last.config.is_push else "num_waiting", last.push_bound or last.num_waiting),
        *compared(history.first, last, "delivered.consumer_seq"),
        *shown(last, "delivered.last_active"),
        history.stream.observed("state.last_seq", history.stream.state.last_seq),
        measured=(still_ns(history), still_for, "duration"),
        between=(unserved_since(history.stream, last), None),
        remedy={} if clustered else {"action": "consumer.inspect"},
    )
