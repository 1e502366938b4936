"""JSD407, from manifests: a consumer that will start elsewhere than its owner asks, or forget its place."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import DeclaredConsumer, Fate, Manifests
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted, span

_SKIPS_BACKLOG = ("new", "last")


@check("consumer_lag.deliver_policy_trap_declared")
def deliver_policy_trap_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """The policy acts once, at creation (server: consumer.go selectStartingSeqNo): a consumer that is there keeps its
    place, unless a plan replaces it.
    """
    deployed = Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        stream = deployed.stream(consumer.stream)
        there = consumer_of(stream, consumer.name)
        if unsure := indeterminate(consumer, "deliver_policy", "opt_start_seq", "opt_start_time"):
            yield unsure
        elif consumer.fate is Fate.REPLACED:
            says = "the plan replaces this consumer: it is deleted with its place and starts anew"
            yield _finding(consumer, f"{says}, by deliver policy {consumer.config.deliver_policy!r}", None)
        elif stream is not None and there is None and (start := _start(consumer, stream)):
            yield _finding(consumer, *start)
        elif _forgets_its_place(consumer):
            threshold = span(consumer.config.inactive_threshold_ns)
            says = f"without a client for {threshold} this durable is deleted, and deliver policy"
            more = f"{consumer.config.deliver_policy!r} then starts it anew at the end: what came meanwhile is skipped"
            yield _finding(consumer, f"{says} {more}", Severity.INFO)
        else:
            yield passed(consumer.subject)


def _start(consumer: DeclaredConsumer, stream: Stream) -> tuple[str, Severity | None] | None:
    """What is wrong with the start of a new consumer on what the stream holds now."""
    config, state = consumer.config, stream.state
    if config.deliver_policy == "by_start_sequence":
        asked = config.opt_start_seq
        if asked > state.last_seq + 1:
            missed = counted(asked - state.last_seq - 1, "message")
            says = f"it will wait for message {asked:,} while the stream ends at {state.last_seq:,}"
            return f"{says}: it never gets the {missed} before that", None
        if 1 < asked < state.first_seq:
            says = f"it asks to start at message {asked:,} and the stream begins at {state.first_seq:,}"
            return f"{says}: what lay between is gone", None
    if config.deliver_policy == "by_start_time" and config.opt_start_time and state.first_ts and state.first_seq > 1:
        if config.opt_start_time < state.first_ts:
            return "it asks to start before the stream's first message: what lay between is gone", Severity.INFO
        return None
    if config.deliver_policy in _SKIPS_BACKLOG and config.durable_name and state.messages > 1:
        says = f"it starts at the end of a stream that holds {counted(state.messages, 'message')}: it never gets them"
        return f"{says} (deliver policy {config.deliver_policy!r})", Severity.INFO
    return None


def _forgets_its_place(consumer: DeclaredConsumer) -> bool:
    config = consumer.config
    ends = config.deliver_policy in _SKIPS_BACKLOG and config.inactive_threshold_ns > 0
    return ends and bool(config.durable_name) and config.ack_policy != "none"


def _finding(consumer: DeclaredConsumer, says: str, severity: Severity | None) -> Finding:
    return Finding(
        subject=consumer.subject,
        severity=severity,
        message=says,
        evidence=(consumer.shows("deliver_policy", consumer.config.deliver_policy),),
        remedy=BY_HAND,
    )
