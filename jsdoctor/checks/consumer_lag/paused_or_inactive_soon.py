"""JSD414: a consumer that delivers nothing because it is paused, or a durable that a short absence deletes."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.streams.limits import refuses_when_full, storage_fills
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import counted, span

_NS_PER_S = 1_000_000_000
_DAY_NS = 86_400 * _NS_PER_S
_WEEK_NS = 7 * _DAY_NS
_OWN_STREAMS = "$MQTT_"
"""The server sets the threshold of its MQTT sessions itself, from its configuration (server: mqtt.go)."""


@check("consumer_lag.paused_or_inactive_soon")
def paused_or_inactive_soon(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge paused consumers, and durables with a short threshold: these are deleted like ephemeral ones."""
    shortest = params.integer("min_inactive_threshold")
    for stream, consumer in snapshots.last.led_consumers():
        config = consumer.config
        soon = 0 < config.inactive_threshold_ns < shortest
        if soon and config.durable_name and not stream.name.startswith(_OWN_STREAMS):
            has_client = consumer.push_bound if config.is_push else consumer.num_waiting > 0
            also_lost = " and the messages that only it was waiting for" if stream.config.retention != "limits" else ""
            yield failed(
                consumer.subject,
                f"this durable and its position are deleted{also_lost} once no client has requested messages for "
                f"{span(config.inactive_threshold_ns)}"
                + (
                    ""
                    if has_client
                    else f"; no {'subscriber is there' if config.is_push else 'request for messages is open'} now"
                ),
                consumer.observed("config.inactive_threshold", config.inactive_threshold_ns),
                consumer.observed(
                    "push_bound" if config.is_push else "num_waiting", has_client or consumer.num_waiting
                ),
                measured=(config.inactive_threshold_ns, shortest, "duration"),
                remedy=_longer_life(stream, consumer),
            )
        elif consumer.paused:
            yield _paused(stream, consumer)
        else:
            yield passed(consumer.subject)


def _longer_life(stream: Stream, consumer: Consumer) -> dict[str, object]:
    """The remedy: a threshold of a week, or the most that the stream allows; the CLI cannot set none."""
    allowed = stream.config.consumer_limits.inactive_threshold_ns or _WEEK_NS
    wanted = min(_WEEK_NS, allowed)
    if wanted <= consumer.config.inactive_threshold_ns:
        return {"action": "consumer.inspect"}
    return {"inactive_threshold_s": wanted // _NS_PER_S}


def _paused(stream: Stream, consumer: Consumer) -> Finding:
    """An info, as operators pause on purpose; a warning if the pause has a cost.

    It has if a full stream refuses publishers, if waiting messages expire, or if the stream keeps them for days.
    """
    keeps = stream.config.retention != "limits" and consumer.num_pending > 0
    refuses = keeps and refuses_when_full(stream) and any(fill.no_room for fill in storage_fills(stream))
    left_ns = _left_of_max_age_ns(stream, consumer) if consumer.num_pending > 0 else None
    holds = keeps and consumer.pause_remaining_ns > _DAY_NS
    cost = ", and the stream keeps all that comes until then" if holds else ""
    if refuses:
        cost = ", which fill the stream: it refuses publishers"
    elif left_ns is not None and left_ns < consumer.pause_remaining_ns:
        which = "which" if stream.config.max_age_ns < consumer.pause_remaining_ns else "the oldest of which"
        cost = f", {which} expire before that (max_age {span(stream.config.max_age_ns)})"
    return failed(
        consumer.subject,
        f"the consumer is paused for another {span(consumer.pause_remaining_ns)} and delivers nothing, "
        f"waiting meanwhile: {counted(consumer.num_pending, 'message')}" + cost,
        consumer.observed("paused", True),
        consumer.observed("pause_remaining", consumer.pause_remaining_ns),
        consumer.observed("num_pending", consumer.num_pending),
        severity=Severity.WARNING if cost else Severity.INFO,
        remedy={"action": "consumer.resume"},
    )


def _left_of_max_age_ns(stream: Stream, consumer: Consumer) -> int | None:
    """How soon a waiting message reaches max_age: by the age of the stream's first one, if that waits. None: never."""
    max_age_ns, first_ts = stream.config.max_age_ns, stream.state.first_ts
    if max_age_ns <= 0:
        return None
    if consumer.config.filters or first_ts is None or stream.state.first_seq <= consumer.delivered.stream_seq:
        return max_age_ns
    return max_age_ns - int((stream.at - first_ts).total_seconds() * 1e9)
