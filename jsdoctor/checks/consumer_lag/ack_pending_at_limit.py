"""JSD403: a consumer whose unacknowledged messages have reached `max_ack_pending`, and stay: it gets nothing new."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from jsdoctor.checks.consumer_lag.progress import (
    histories,
    key,
    left_alone,
    moved,
    patience_ns,
    quiet_ns,
    redeliveries,
    stalled_ns,
    still_ns,
    unacknowledged_ns,
    until,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Observation, Severity, failed, passed, shown, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted, elapsed, span


@check("consumer_lag.ack_pending_at_limit")
def ack_pending_at_limit(snapshots: SnapshotSeries, trend: Trend | None, params: Params) -> Iterator[Finding]:
    """At the limit the server delivers nothing new and reports nothing (server: consumer.go getNextMsg).

    Consumers that work at their limit are healthy: one message at a time, or whole batches. A limit is a fault when
    what fills it is neither acknowledged nor redelivered with success for longer than a worker may hold a message.
    """
    warn_at, fail_at = params.number("warn_fraction"), params.number("max_fraction")
    seen = histories(trend)
    for _, consumer in snapshots.last.led_consumers():
        limit = consumer.config.max_ack_pending
        if limit <= 0 or consumer.config.ack_policy in _NOT_OF_WORKERS or consumer.paused:
            continue
        used = consumer.num_ack_pending / limit
        if used < warn_at or consumer.num_pending == 0:
            yield passed(consumer.subject)
            continue
        if left_alone(consumer):  # JSD405's
            continue
        at_limit = used >= fail_at
        held = _held(consumer, seen.get(key(consumer)), at_limit)
        if held is None:
            wait = f"run with --interval {patience_ns(consumer) // 1_000_000_000 + 1}s"
            yield suspected(consumer.subject, "its leader does not know when anything was acknowledged last", wait)
        elif not held.why:
            yield _full_within_ack_wait(consumer, seen.get(key(consumer)), params.integer("held_for"), at_limit)
        else:
            yield _finding(consumer, used, fail_at if at_limit else warn_at, held, at_limit)


_NOT_OF_WORKERS = ("none", "flow_control")
"""Nothing is acknowledged, or a stream that copies does it: its window is full whenever it catches up."""

_SERIAL = 1
"""The `max_ack_pending` that means strict order, one message after the other: a higher one would break that."""

_DELIVERIES = 2
"""A redelivered message counts as held after this many times the longest time between deliveries."""


class _HeldPlaces(NamedTuple):
    """Why messages keep their places (empty: they do not), for how long, and whether the same come `again`."""

    why: str
    for_ns: int
    again: bool = False


def _held(consumer: Consumer, history: ConsumerHistory | None, at_limit: bool) -> _HeldPlaces | None:
    """Whether and why messages keep their places; None if that is unknown."""
    patience = patience_ns(consumer)
    unacknowledged, quiet = unacknowledged_ns(consumer), quiet_ns(consumer)
    if _all_came_again(consumer, history) and (unacknowledged or 0) > _DELIVERIES * patience:
        idle = unacknowledged or 0
        return _HeldPlaces(f"came more than once and none was acknowledged for {elapsed(idle)}", idle, again=True)
    if not at_limit or (history and moved(history)):
        return _HeldPlaces("", 0)
    if history and still_ns(history) > patience:
        return _HeldPlaces(f"have been unacknowledged for {elapsed(still_ns(history))}", still_ns(history))
    if quiet is None:
        return None
    return _HeldPlaces(f"have been unacknowledged for {elapsed(quiet)}" if quiet > patience else "", quiet)


def _all_came_again(consumer: Consumer, history: ConsumerHistory | None) -> bool:
    """Whether every unacknowledged message was delivered more than once.

    With `max_deliver` only redeliveries between the samples, with nothing new among them, show it.
    """
    if consumer.num_redelivered < consumer.num_ack_pending:
        return False
    if consumer.config.max_deliver <= 0:
        return True
    if history is None or history.first.delivered.stream_seq != consumer.delivered.stream_seq:
        return False
    return redeliveries(history) > 0


def _full_within_ack_wait(
    consumer: Consumer, history: ConsumerHistory | None, held_for: int, at_limit: bool
) -> Finding:
    """A full consumer whose messages are younger than `ack_wait`: an info, or a warning if workers wait for messages.

    With a limit of one, a second worker always waits: that is what the limit is for.
    """
    still = stalled_ns(consumer, history)
    if at_limit and still is None and history is None and consumer.num_waiting:
        reason = "every place is taken and requests of workers wait; one sample does not show whether anything moves"
        return suspected(consumer.subject, reason, "run with --samples 2 or more")
    if not at_limit or still is None:
        return passed(consumer.subject)
    limit, several = consumer.config.max_ack_pending, consumer.config.max_ack_pending > _SERIAL
    workers_wait = several and consumer.num_waiting > 0
    old = several and still > held_for
    normal_until = until(consumer, patience_ns(consumer), still)
    waiting = f", {counted(consumer.num_waiting, 'request')} of workers waiting" if consumer.num_waiting else ""
    return failed(
        consumer.subject,
        f"{consumer.num_ack_pending:,} of {limit:,} allowed messages are unacknowledged and nothing moved "
        f"for {elapsed(still)}: nothing new is delivered, "
        f"{counted(consumer.num_pending, 'message')} waiting{waiting}; "
        f"workers may hold their messages until {normal_until} (ack_wait or backoff)",
        *_evidence(consumer),
        severity=Severity.WARNING if workers_wait or old else Severity.INFO,
        confidence=Confidence.MEDIUM if workers_wait or old else Confidence.LOW,
        measured=(still, held_for if old else patience_ns(consumer), "duration"),
        advice=f"Wait until {normal_until}: workers may be busy until then. {_WORK_AROUND}" if workers_wait else "",
        how_to_get=f"look again after {normal_until}: then it is a fault",
    )


_WORK_AROUND = (
    "If those that hold messages are alive and slow, a higher max_ack_pending gives the others work meanwhile."
)


def _finding(consumer: Consumer, used: float, threshold: float, held: _HeldPlaces, at_limit: bool) -> Finding:
    limit = consumer.config.max_ack_pending
    return failed(
        consumer.subject,
        ("delivery has stopped" if at_limit else "delivery stops at the limit")
        + f": {consumer.num_ack_pending:,} of {limit:,} allowed messages {held.why}, {consumer.num_pending:,} wait"
        f"{_requested(consumer)}",
        *_evidence(consumer),
        severity=None if at_limit and not _no_worker_requests(consumer) else Severity.WARNING,
        measured=(used, threshold, "ratio"),
        between=(consumer.at - timedelta(microseconds=held.for_ns // 1000), None),
        advice=_advice(consumer, held.again),
    )


def _requested(consumer: Consumer) -> str:
    if consumer.config.is_push:
        return "" if consumer.push_bound else " and no subscriber bound"
    return "" if consumer.num_waiting else " and no worker requests more"


def _advice(consumer: Consumer, same_again: bool) -> str:
    """Advice by what holds the places. More places would fill up as well, as nothing is acknowledged."""
    again = f"what they hold comes again after {span(patience_ns(consumer))}"
    if same_again:
        end = "" if consumer.config.max_deliver > 0 else ", or set max_deliver, which ends that"
        return (
            "Look at why the workers acknowledge none of these messages: the same ones come again and again. Correct "
            f"the handler{end}."
        )
    if consumer.config.is_push:
        return f"Look at the subscriber: restart it if it hangs or is gone; {again}."
    if not consumer.num_waiting:
        return f"Restart the workers: {again}."
    return (
        f"Look at the workers: they request more and acknowledge nothing. Restart those that hang; {again}. Where they "
        "forget to acknowledge, only a change of their program helps."
    )


def _no_worker_requests(consumer: Consumer) -> bool:
    """Whether a serial pull consumer has long had no request: its client may have stopped at a second attempt."""
    serial = consumer.config.max_ack_pending == _SERIAL and not consumer.config.is_push
    return serial and not consumer.num_waiting and (quiet_ns(consumer) or 0) > patience_ns(consumer)


def _evidence(consumer: Consumer) -> Iterator[Observation]:
    yield from shown(consumer, "num_ack_pending", "config.max_ack_pending", "num_pending", "num_waiting")
    yield from shown(consumer, "num_redelivered", "ack_floor.last_active", "delivered.last_active")
