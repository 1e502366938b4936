"""JSD405: messages wait and nobody comes for them: push without a subscriber, or pull and nobody pulls."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import histories, is_full, key, moved, patience_ns, quiet_ns, still_ns
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import ConsumerHistory, Trend
from jsdoctor.model.wording import counted, span

_KEPT_LONG_NS = 3_600_000_000_000
"""A consumer that is no durable and is deleted sooner than this without clients clears itself away."""


@check("consumer_lag.unbound")
def unbound(snapshots: SnapshotSeries, trend: Trend | None, params: Params) -> Iterator[Finding]:
    """One look proves nothing of a pull consumer: clients that fetch in batches have no request open in between.

    So it must be quiet for longer than its workers may take over what they hold, and messages must have waited as long.
    """
    idle_ns, enough = params.integer("idle_for"), params.integer("unproven_pending")
    seen = histories(trend)
    for stream, consumer in snapshots.last.led_consumers():
        if consumer.paused or is_full(consumer) or _comes_and_goes(consumer):
            continue
        if consumer.num_pending == 0 or _has_client(consumer):
            yield passed(consumer.subject)
            continue
        history = seen.get(key(consumer))
        if history and (moved(history) or any(_has_client(r) or r.num_pending == 0 for r in history.readings)):
            yield passed(consumer.subject)
            continue
        long_ns = max(idle_ns, patience_ns(consumer) if consumer.num_ack_pending else 0)
        quiet = max(quiet_ns(consumer) or 0, still_ns(history) if history else 0)
        old = quiet >= long_ns and (consumer.num_pending >= enough or _waited_ns(stream, consumer, history) >= long_ns)
        if consumer.config.is_push or old:
            yield _finding(stream, consumer, quiet, long_ns, old)
        elif quiet < long_ns and quiet_ns(consumer) is not None:
            yield passed(consumer.subject)
        else:
            reason = f"nobody asks for {counted(consumer.num_pending, 'message')}, but for how long is not known"
            yield unknown(consumer.subject, reason, f"run with --interval {long_ns // 1_000_000_000 + 1}s")


def _has_client(consumer: Consumer) -> bool:
    return consumer.push_bound if consumer.config.is_push else consumer.num_waiting > 0


def _comes_and_goes(consumer: Consumer) -> bool:
    """Whether it is made to be without a client at times: it clears itself away, or a session of MQTT owns it."""
    if consumer.stream.startswith("$MQTT_"):
        return True
    return not consumer.config.durable_name and consumer.config.inactive_threshold_ns < _KEPT_LONG_NS


def _waited_ns(stream: Stream, consumer: Consumer, history: ConsumerHistory | None) -> int:
    """How long some message has waited for sure: the stream's first if it is still to be delivered, else its last."""
    state, moments = stream.state, []
    if consumer.delivered.stream_seq < state.first_seq and not consumer.config.filters:
        moments.append(state.first_ts)
    moments.append(state.last_ts)
    ages = [int((stream.at - moment).total_seconds() * 1e9) for moment in moments if moment]
    return max((*ages, int(history.elapsed_s * 1e9) if history else 0))


def _finding(stream: Stream, consumer: Consumer, quiet: int, long_ns: int, old: bool) -> Finding:
    push = consumer.config.is_push
    never = consumer.delivered.consumer_seq == 0
    who = "no subscriber is bound" if push else "nobody asks for messages"
    since = "nothing was ever delivered" if never else f"nothing was delivered for {span(quiet)}"
    piles_up = stream.config.retention in ("workqueue", "interest")
    seen: Observation = (
        consumer.observed("push_bound", consumer.push_bound)
        if push
        else consumer.observed("num_waiting", consumer.num_waiting)
    )
    return Finding(
        subject=consumer.subject,
        severity=Severity.ERROR if piles_up and old else None,
        message=f"{who} and {since}: {counted(consumer.num_pending, 'message')} waiting"
        + (", and the stream keeps them until this consumer acknowledges them" if piles_up else ""),
        measured=quiet if old else None,
        threshold=long_ns if old else None,
        unit="duration" if old else None,
        evidence=(
            seen,
            consumer.observed("num_pending", consumer.num_pending),
            consumer.observed("delivered.consumer_seq", consumer.delivered.consumer_seq),
            consumer.observed("delivered.last_active", consumer.delivered.last_active),
        ),
    )
