"""JSD407: a consumer whose deliver policy made it start elsewhere than its owner asked, or will.

From manifests: a consumer that will start elsewhere than its owner asks, or forget its place.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, shown, unknown
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.manifest import DeclaredConsumer, Manifests, PlannedAction
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import counted, span

_SKIPS_BACKLOG = ("new", "last")
_STATED = ("deliver_policy", "opt_start_seq", "opt_start_time", "inactive_threshold", "ack_policy")


@check("consumer_lag.deliver_policy_trap")
def deliver_policy_trap(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge consumers before their first delivery: the policy acts once, at creation (consumer.go selectStartingSeqNo).

    Until then `delivered.stream_seq + 1` is where the server really starts the consumer.
    """
    settle_ns = params.integer("settle")
    known = {(c.account, c.stream, c.name) for sample in snapshots.snapshots[:-1] for _, c in sample.led_consumers()}
    for stream, consumer in snapshots.last.led_consumers():
        if (start := _misplaced_start(stream, consumer)) is not None:
            # A stream that was read just before the consumer came may have grown to that sequence meanwhile.
            if (consumer.account, consumer.stream, consumer.name) in known or _age_ns(consumer) >= settle_ns:
                yield failed(
                    consumer.subject,
                    f"the consumer {start}",
                    *shown(consumer, "config.opt_start_seq", "delivered.stream_seq"),
                    *shown(stream, "state.first_seq", "state.last_seq"),
                )
            else:
                yield unknown(consumer.subject, "the consumer was created a moment ago", "run the check again")
        elif (waits_ns := _starts_in_ns(consumer)) > 0:
            yield failed(
                consumer.subject,
                f"the consumer starts at a time that is {span(waits_ns)} ahead: it gets nothing stored before then",
                consumer.observed("config.opt_start_time", consumer.config.opt_start_time),
                severity=Severity.INFO,
                measured=(waits_ns, 0, "duration"),
            )
        elif _forgets_its_place(consumer.config):
            yield _forgetting_finding(consumer)
        elif _skipped_older(stream, consumer):
            yield failed(
                consumer.subject,
                "deliver policy 'last' began with the newest message when this durable was created, and the stream has"
                " older ones: it never gets them",
                *shown(consumer, "config.deliver_policy", "created"),
                stream.observed("state.first_ts", stream.state.first_ts),
                severity=Severity.INFO,
            )
        else:
            yield passed(consumer.subject)


def _misplaced_start(stream: Stream, consumer: Consumer) -> str | None:
    """A sentence on a start elsewhere than configured; None if it is right, or if something was delivered already."""
    config, state = consumer.config, stream.state
    if consumer.delivered.consumer_seq or config.deliver_policy != "by_start_sequence":
        return None
    wanted_seq, actual_seq = config.opt_start_seq, consumer.delivered.stream_seq + 1
    if actual_seq > state.last_seq + 1:
        waits = actual_seq - state.last_seq - 1
        never = f"it will never get the {counted(waits, 'message')} before that"
        return f"waits for message {actual_seq:,} while the stream ends at {state.last_seq:,}: {never}"
    if wanted_seq > actual_seq:
        start = f"asks to start at message {wanted_seq:,} but the server starts it at {actual_seq:,}"
        return f"{start}: it gets messages that it did not request"
    # Sequence 1 is how people say "from the beginning". A start above the stream's first comes from a reset.
    if 1 < wanted_seq < actual_seq <= state.first_seq:
        begins = f"the stream begins at {state.first_seq:,}"
        return f"asks to start at message {wanted_seq:,} but {begins}: what lay between is gone"
    return None


def _starts_in_ns(consumer: Consumer) -> int:
    """How long it is until the time from which the consumer wants messages; 0 or less where that is past or not set."""
    start = consumer.config.opt_start_time
    if start is None or consumer.config.deliver_policy != "by_start_time":
        return 0
    return int((start - consumer.at).total_seconds() * 1e9)


def _age_ns(consumer: Consumer) -> float:
    return (consumer.at - consumer.created).total_seconds() * 1e9 if consumer.created else float("inf")


def _skipped_older(stream: Stream, consumer: Consumer) -> bool:
    """Whether a durable worker with policy `last` began with the newest message, while the stream has older ones."""
    config, first_ts = consumer.config, stream.state.first_ts
    works = bool(config.durable_name) and config.ack_policy in ("explicit", "all")
    if config.deliver_policy != "last" or not works or config.filters or consumer.created is None:
        return False
    return first_ts is not None and stream.state.messages > 1 and first_ts < consumer.created


def _forgets_its_place(config: ConsumerConfig) -> bool:
    ends = config.deliver_policy in _SKIPS_BACKLOG and config.inactive_threshold_ns > 0
    return ends and bool(config.durable_name) and config.ack_policy != "none"


def _forgetting_finding(consumer: Consumer) -> Finding:
    config = consumer.config
    return failed(
        consumer.subject,
        f"without a client for {span(config.inactive_threshold_ns)} this durable is deleted, and deliver policy "
        f"{config.deliver_policy!r} then starts it again at the end: messages published meanwhile are skipped",
        consumer.observed("config.deliver_policy", config.deliver_policy),
        consumer.observed("config.inactive_threshold", config.inactive_threshold_ns),
        severity=Severity.INFO,
    )


@check("consumer_lag.deliver_policy_trap_declared")
def deliver_policy_trap_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Judge new and replaced consumers: the policy acts once, at creation (server: consumer.go selectStartingSeqNo)."""
    deployed = Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        stream = deployed.stream(consumer.stream)
        deployed_consumer = consumer_of(stream, consumer.name)
        if unsure := indeterminate(consumer, *_STATED):
            yield unsure
        elif consumer.planned_action is PlannedAction.REPLACED:
            text = "the plan replaces this consumer: it is deleted with its position and starts again"
            yield _finding(consumer, f"{text}, by deliver policy {consumer.config.deliver_policy!r}", None)
        elif stream is not None and deployed_consumer is None and (start := _start_problem(consumer, stream)):
            yield _finding(consumer, *start)
        elif _forgets_its_place(consumer.config):
            threshold = span(consumer.config.inactive_threshold_ns)
            text = f"without a client for {threshold} this durable is deleted, and deliver policy"
            more = f"{consumer.config.deliver_policy!r} then starts it again at the end: what came meanwhile is skipped"
            yield _finding(consumer, f"{text} {more}", Severity.INFO)
        else:
            yield passed(consumer.subject)


def _start_problem(consumer: DeclaredConsumer, stream: Stream) -> tuple[str, Severity | None] | None:
    """What is wrong with the start of a new consumer on what the stream holds now."""
    config, state = consumer.config, stream.state
    if config.deliver_policy == "by_start_sequence":
        wanted_seq = config.opt_start_seq
        if wanted_seq > state.last_seq + 1:
            missed = counted(wanted_seq - state.last_seq - 1, "message")
            text = f"it will wait for message {wanted_seq:,} while the stream ends at {state.last_seq:,}"
            return f"{text}: it never gets the {missed} before that", None
        if 1 < wanted_seq < state.first_seq:
            text = f"it asks to start at message {wanted_seq:,} and the stream begins at {state.first_seq:,}"
            return f"{text}: what lay between is gone", None
    if config.deliver_policy == "by_start_time" and config.opt_start_time and state.first_ts and state.first_seq > 1:
        if config.opt_start_time < state.first_ts:
            return "it asks to start before the stream's first message: what lay between is gone", Severity.INFO
        return None
    if config.deliver_policy in _SKIPS_BACKLOG and config.durable_name and state.messages > 1:
        text = f"it starts at the end of a stream that holds {counted(state.messages, 'message')}: it never gets them"
        return f"{text} (deliver policy {config.deliver_policy!r})", Severity.INFO
    return None


def _finding(consumer: DeclaredConsumer, text: str, severity: Severity | None) -> Finding:
    return failed(
        consumer.subject, text, consumer.shows("deliver_policy", consumer.config.deliver_policy), severity=severity
    )
