"""JSD410: an `ack_wait` so short that messages are sent again while they are still processed.

From the server's own measurements: acknowledgements that take nearly as long as `ack_wait`, or longer.
From packets: acks that came when the message had been sent again already.
From manifests: an `ack_wait` that no handler can meet, or that a backoff overrides.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import unacknowledged_ns
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.packets.views import most_severe, percent, period
from jsdoctor.checks.registry import check
from jsdoctor.model.ack_times import AckTimes, ConsumerAcks
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.manifest import DeclaredConsumer, Manifests, Tool
from jsdoctor.model.nats_traffic import ConsumerTraffic
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.wording import counted, span

_DEFAULT_WAIT_S = 30
_NS_PER_S = 1_000_000_000
_MINUTE_NS = 60 * _NS_PER_S


@check("consumer_lag.ack_wait_too_short")
def ack_wait_too_short(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge only waits that no handler can meet, as the configuration does not show how long a handler takes.

    With a backoff the server has already put its first step in place of `ack_wait` (server: consumer.go
    setConsumerConfigDefaults), so the value set there is not visible either.
    """
    shortest = params.integer("min_ack_wait")
    for _, consumer in snapshots.last.led_consumers():
        config = consumer.config
        if config.ack_policy == "none" or config.ack_wait_ns <= 0:
            continue
        if config.ack_wait_ns >= shortest:
            yield passed(consumer.subject)
            continue
        limit = "the first step of its backoff, which replaces ack_wait," if config.backoff_ns else "its ack_wait"
        again = counted(consumer.num_redelivered, "message") if consumer.num_redelivered else "messages"
        yield failed(
            consumer.subject,
            f"{limit} is {span(config.ack_wait_ns)}, less than most handlers take: {again} sent again while processed",
            consumer.observed("config.ack_wait", config.ack_wait_ns),
            consumer.observed("config.backoff", list(config.backoff_ns)),
            consumer.observed("num_redelivered", consumer.num_redelivered),
            measured=(config.ack_wait_ns, shortest, "duration"),
            remedy=longer_wait(consumer),
            advice=_WORKERS_FIRST if _none_acknowledged(consumer) else "",
        )


_WORKERS_FIRST = (
    "Look at the workers first: they acknowledge none of what they get, so that a longer ack_wait only makes it come "
    "again later."
)


def longer_wait(consumer: Consumer, at_least_ns: int = 0) -> dict[str, object]:
    """The remedy: the default `ack_wait`, or `at_least_ns` if longer; a backoff keeps its number of steps."""
    config, wait_s = consumer.config, max(_DEFAULT_WAIT_S, -(-at_least_ns // _NS_PER_S))
    if not config.durable_name or _none_acknowledged(consumer):  # the CLI edits durables only
        return {"action": "consumer.inspect"}
    if not config.backoff_ns:
        return {"ack_wait_s": wait_s}
    longest_s = max(-(-config.backoff_ns[-1] // _NS_PER_S), 2 * wait_s)
    return {"ack_wait_s": wait_s, "backoff_steps": len(config.backoff_ns), "backoff_max_s": longest_s}


def _none_acknowledged(consumer: Consumer) -> bool:
    """Whether every unacknowledged message came again and none was acknowledged for more than a minute.

    A longer wait does not help then: where only the wait is too short, late acknowledgements arrive.
    """
    ago = unacknowledged_ns(consumer)
    return 0 < consumer.num_ack_pending <= consumer.num_redelivered and ago is not None and ago > _MINUTE_NS


_P99 = 0.99


@check("consumer_lag.ack_wait_measured")
def ack_wait_measured(ack_times: AckTimes, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Time counts from the last delivery, so times of redelivered messages are rather too short.

    Consumers with fewer than `min_acks` acknowledgements are not judged (server: consumer.go sampleAck).
    """
    led = {(c.account, c.stream, c.name): c for _, c in snapshots.last.led_consumers()}
    share, enough = params.number("wait_share"), params.integer("min_acks")
    for acks in ack_times.consumers:
        consumer = led.get((acks.account, acks.stream, acks.consumer))
        if consumer is None or consumer.config.ack_wait_ns <= 0 or len(acks.ack_times_ns) < enough:
            continue
        if acks.quantile_ns(_P99) < share * consumer.config.ack_wait_ns:
            yield passed(consumer.subject)
        else:
            yield _finding(consumer, acks, share)


def _finding(consumer: Consumer, acks: ConsumerAcks, share: float) -> Finding:
    wait_ns, p99_ns = consumer.config.ack_wait_ns, acks.quantile_ns(_P99)
    too_long, late = p99_ns > wait_ns, acks.longer_than(wait_ns)
    limit_text = "the first step of its backoff" if consumer.config.backoff_ns else "its ack_wait"
    how_late = f"{counted(late, 'acknowledgement')} came after it" if late else "that leaves no room for a busy hour"
    again = f"; {acks.redelivered:,} were of messages that had come again" if acks.redelivered else ""
    return failed(
        consumer.subject,
        f"of {counted(len(acks.ack_times_ns), 'measured acknowledgement')} 99 % came within {span(p99_ns)} of the "
        f"delivery, half within {span(acks.quantile_ns(0.5))}; after {span(wait_ns)}, {limit_text}, a message is sent "
        f"again: {how_late}{again}",
        consumer.observed("config.ack_wait", wait_ns),
        consumer.observed("config.sample_freq", consumer.config.sample_freq),
        consumer.observed("ack_time p99", p99_ns),
        consumer.observed("acknowledgements measured", len(acks.ack_times_ns)),
        severity=Severity.ERROR if too_long else None,
        measured=(p99_ns, wait_ns if too_long else round(share * wait_ns), "duration"),
        remedy=longer_wait(consumer, 2 * p99_ns),
    )


@check("consumer_lag.ack_wait_too_short_captured")
def ack_wait_too_short_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each consumer whose acks were captured: they show how long the work takes, which no configuration does."""
    judged = (
        _judge_traffic(consumer, packets.captures[reported.capture].name, params)
        for reported in packets.nats
        for consumer in reported.consumers
        if consumer.acks or consumer.acked_late
    )
    yield from most_severe(judged, Severity.WARNING)


def _judge_traffic(consumer: ConsumerTraffic, capture: str, params: Params) -> Finding:
    subject = Subject(kind="consumer", name=consumer.consumer, stream=consumer.stream)
    if not consumer.acked_late:
        return passed(subject)
    late = Share(consumer.acked_late, max(consumer.acks, consumer.acked_late))
    often = late.reaches(params.number("late_acks"), params.integer("enough"))
    usual, again = consumer.ack_ns, consumer.redelivery_ns
    took = f", up to {span(consumer.late_ns.largest_ns)} after its delivery" if consumer.late_ns.count else ""
    waits = f"; the earliest second delivery came {span(again.least_ns)} after the first" if again.count else ""
    return failed(
        subject,
        f"{late.events:,} of {late.of:,} acks ({percent(late.ratio)}) came when the message had been sent again"
        f" already{took}{waits}: ack_wait should be twice what the work takes, or more",
        Observation(capture, "acks", consumer.acks),
        Observation(capture, "acks after a redelivery", consumer.acked_late),
        Observation(capture, "redeliveries", consumer.redeliveries),
        Observation(capture, "time to ack, p50, ns", usual.quantile_ns(0.5)),
        Observation(capture, "time to ack, p99, ns", usual.quantile_ns(0.99)),
        Observation(capture, "time to late acks, p50, ns", consumer.late_ns.quantile_ns(0.5)),
        Observation(capture, "time to redelivery, least, ns", again.least_ns),
        severity=None if often else Severity.INFO,
        measured=(late.ratio, params.number("late_acks"), "ratio"),
        between=period(consumer),
        remedy={"action": "consumer.inspect"},
    )


@check("consumer_lag.ack_wait_too_short_declared")
def ack_wait_too_short_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """The first step of a backoff takes the place of `ack_wait` (server: consumer.go setConsumerConfigDefaults).

    With `processing_p99` (nanoseconds), `ack_wait` must be at least twice that, else at least `min_ack_wait`.
    """
    p99 = params.optional("processing_p99")
    needed = 2 * int(p99) if p99 else params.integer("min_ack_wait")
    for consumer in manifests.kept_consumers():
        stored, config = consumer.stored, consumer.config
        if unsure := indeterminate(consumer, "ack_wait", "backoff", "ack_policy"):
            yield unsure
        elif stored.ack_policy == "none":
            continue
        elif stored.ack_wait_ns < needed:
            yield _too_short(consumer, needed, given=bool(p99))
        elif config.backoff_ns and consumer.states("ack_wait") and config.ack_wait_ns != config.backoff_ns[0]:
            yield failed(
                consumer.subject,
                f"ack_wait {span(config.ack_wait_ns)} will not be used: the first step of the backoff,"
                f" {span(config.backoff_ns[0])}, takes its place",
                consumer.shows("ack_wait", span(config.ack_wait_ns)),
                consumer.shows("backoff", span(config.backoff_ns[0])),
                severity=Severity.WARNING if config.backoff_ns[0] < config.ack_wait_ns else Severity.INFO,
                measured=(config.backoff_ns[0], config.ack_wait_ns, "duration"),
            )
        else:
            yield passed(consumer.subject)


def _too_short(consumer: DeclaredConsumer, needed: int, *, given: bool) -> Finding:
    wait = consumer.stored.ack_wait_ns
    why = "that is its ack_wait"
    if consumer.config.backoff_ns:
        why = "that is the first step of its backoff, which takes the place of ack_wait"
    elif consumer.tool is Tool.NACK and not consumer.states("ack_wait"):
        why = "ackWait is not set, and the resource definition's default is 1ns, not the server's 30s"
    asked = f"; twice the given processing time is {span(needed)}" if given else ", and hardly any handler is that fast"
    return failed(
        consumer.subject,
        f"a message that is not acknowledged within {span(wait)} will be sent again: {why}{asked}",
        consumer.shows("backoff" if consumer.config.backoff_ns else "ack_wait", span(wait)),
        measured=(wait, needed, "duration"),
    )
