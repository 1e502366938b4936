"""JSD411: a durable consumer that an earlier sample shows and the newest does not, or as another one.

Over hours: a durable consumer that an earlier bundle shows and that is not there now.
From logs: consumers that a start could not load, that clients miss, that were deleted.
From manifests: a declared durable consumer that the deployment does not have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta

from jsdoctor.checks.consumer_lag.progress import Key, key
from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.logs.bursts import NOT_CREATED, Burst, bursts, refusals_in
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import BY_HAND, Finding, Severity, failed, passed, shown, suspected, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests, PlannedAction
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import History, Trend
from jsdoctor.model.wording import counted, span


@check("consumer_lag.missing")
def missing(trend: Trend, params: Params) -> Iterator[Finding]:
    """Compare complete lists of consumers.


    A consumer with an `inactive_threshold` may go by itself; JSD203 judges those of a stream that was recreated.
    Jobs create durable consumers and delete them when they are done: one younger than `settled` is no fault.
    """
    settled = timedelta(microseconds=params.integer("settled") / 1000)
    return missing_consumers(trend.snapshots, None, settled)


_AT_THE_END = ("new", "last")
"""Deliver policies that skip what is stored, or all of it but the newest message."""


def missing_consumers(
    snapshots: tuple[ClusterSnapshot, ...], severity: Severity | None, settled: timedelta
) -> Iterator[Finding]:
    """Findings for consumers in older snapshots that the last one lacks or that were recreated since.

    A consumer that was younger than `settled` may be deleted.
    """
    last = snapshots[-1]
    now = {key(consumer): consumer for _, consumer in last.led_consumers()}
    unled = (c for stream in last.streams for c in stream.consumers if not (stream.from_leader and c.from_leader))
    listed_now = {*now, *map(key, unled)}
    before: dict[Key, list[Consumer]] = defaultdict(list)
    for snapshot in reversed(snapshots[:-1]):
        for _, consumer in snapshot.led_consumers():
            before[key(consumer)].append(consumer)
    silent = {(asset.subject.account, asset.subject.stream, asset.subject.name) for asset in last.silent}
    streams = last.led_by_key
    created = {(s.account, s.name, s.created) for snapshot in snapshots[:-1] for s in snapshot.streams}
    for consumer in _seen_before(snapshots[:-1]).values():
        stream = streams.get((consumer.account, consumer.stream))
        identity = key(consumer)
        if stream is None or identity in silent or (stream.account, stream.name, stream.created) not in created:
            continue
        if identity in listed_now:
            new = now.get(identity)
            old = _replaced(before[identity], new, settled) if new else None
            yield _recreated(old, new) if old and new else passed(consumer.subject)
        elif consumer.created and consumer.at - consumer.created < settled:
            yield passed(consumer.subject) if _is_idle(consumer) else _short_lived(consumer)
        elif (reason := _why_unsure(consumer, stream)) is not None:
            yield unknown(consumer.subject, reason, "see what could not be seen, and run again")
        else:
            severity_if_idle = Severity.INFO if settled and _is_idle(consumer) else severity
            yield _finding(consumer, stream, severity_if_idle)


def _replaced(readings: list[Consumer], new: Consumer, settled: timedelta) -> Consumer | None:
    """The newest reading of an earlier consumer of the same name, if that was durable and older than `settled`."""
    for old in readings:
        if old.created and new.created and old.created < old.at < new.created:
            durable = old.config.durable_name and not old.config.inactive_threshold_ns
            return old if durable and old.at - old.created >= settled else None
    return None


def _recreated(old: Consumer, new: Consumer) -> Finding:
    """The finding for a recreated consumer: a warning if its policy skips what the old one still had to deliver."""
    left = old.num_pending + old.num_ack_pending
    skips = left > 0 and new.config.deliver_policy in _AT_THE_END
    skipped = f", and skips the {counted(left, 'message')} that the old one had not done" if skips else ""
    return failed(
        new.subject,
        f"it was deleted and created again: the new one starts by its deliver policy"
        f" {new.config.deliver_policy!r}, not behind message {old.ack_floor.stream_seq:,}, the ack floor of the old"
        f" one{skipped}",
        new.observed("created", new.created),
        *shown(old, "ack_floor.stream_seq", "num_pending", "num_ack_pending"),
        severity=Severity.WARNING if skips else Severity.INFO,
        between=(None, new.created),
    )


def _short_lived(consumer: Consumer) -> Finding:
    """A suspicion: it had messages or clients left, but jobs create and delete consumers within minutes."""
    age = int((consumer.at - consumer.created).total_seconds() * 1e9) if consumer.created else 0
    waited = counted(consumer.num_pending + consumer.num_ack_pending, "message")
    return suspected(
        consumer.subject,
        f"it was {span(age)} old and is gone, with {waited} that it had not done: a job may have deleted it",
        "ask its owner; `nats stream info` shows which consumers are left",
    )


def _is_idle(consumer: Consumer) -> bool:
    """Whether a consumer had no messages left and no clients, so that its deletion was probably intended."""
    has_clients = consumer.push_bound if consumer.config.is_push else consumer.num_waiting > 0
    return not (consumer.num_pending or consumer.num_ack_pending or has_clients)


def _seen_before(snapshots: tuple[ClusterSnapshot, ...]) -> dict[Key, Consumer]:
    """The newest reading of every consumer that stays until it is deleted."""
    return {
        key(consumer): consumer
        for snapshot in snapshots
        for _, consumer in snapshot.led_consumers()
        if consumer.config.durable_name and consumer.config.inactive_threshold_ns == 0
    }


def _why_unsure(consumer: Consumer, stream: Stream) -> str | None:
    """Why the consumer may still exist: servers list only what they hold, and some that held it did not respond."""
    if not stream.consumers_seen:
        return "not all consumers of its stream were listed"
    held = {consumer.answered_by, *(replica.server for replica in consumer.replicas)} - {""}
    servers = {replica.server for replica in stream.replicas}
    unheard = held - servers if stream.replicas else set()
    return f"{', '.join(sorted(unheard))} held it and did not list the stream again" if unheard else None


def _finding(consumer: Consumer, stream: Stream, severity: Severity | None) -> Finding:
    lost = stream.config.retention != "limits"
    waited = counted(consumer.num_pending + consumer.num_ack_pending, "message")
    return failed(
        consumer.subject,
        f"this durable consumer was there and is gone, with {waited} that it had not done: its clients get no "
        "messages and, with push, no error" + ("; the stream may delete what only it waited for" if lost else ""),
        *shown(consumer, "delivered.stream_seq", "ack_floor.stream_seq"),
        stream.observed("state.consumer_count", stream.state.consumer_count),
        severity=severity,
        between=(None, consumer.at),
    )


@check("consumer_lag.missing_history")
def missing_history(history: History) -> Iterator[Finding]:
    """Findings of `missing` over hours: warnings, as a consumer may have been deleted on purpose meanwhile."""
    return missing_consumers(history.snapshots, Severity.WARNING, settled=timedelta(0))


_NOT_LOADED = (
    "consumer-recreation-failed",
    "consumer-recreation-failed-unnamed-stream",
    "consumer-metafile-missing",
    "consumer-metafile-invalid",
    "consumer-metafile-undecryptable",
)
"""Signatures of JSD804, which reports what is damaged."""

_NOT_CREATED = (NOT_CREATED, "consumer-start-failed")
_GONE = ("client-consumer-not-found", "client-consumer-deleted", "client-consumer-deleted-status")
_SILENT = "client-heartbeats-missed"


@check("consumer_lag.missing_logged", lines_of="either")
def missing_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each consumer that servers name, and for each application, as errors of clients name none."""
    not_loaded, not_created = (
        "could not be loaded when its server started, and is gone for its clients",
        "could not be created",
    )
    for burst in bursts(logs, *_NOT_LOADED, calm=False):
        yield _finding_logged(burst, f"a consumer {not_loaded}, {burst.story}", None)
    for burst in bursts(logs, *_NOT_CREATED, calm=False):
        if not refusals_in(burst):
            yield _finding_logged(burst, f"a consumer {not_created}, {burst.story}", None)
    for burst in bursts(logs, *_GONE, _SILENT, subjects=client_of, calm=False):
        silent = all(occurrence.signature == _SILENT for occurrence in burst.found)
        what = (
            "its consumer sends no heartbeats: it is gone, has no leader, or the connection is broken"
            if silent
            else "the consumer that it uses is not there"
        )
        severity = Severity.WARNING if burst.most >= params.integer("asked") else Severity.INFO
        why = "look who deletes it, and whether its inactive_threshold does"
        yield _finding_logged(burst, f"{what}, {burst.story}; {why}", severity)
    for burst in bursts(logs, "advisory-consumer-deleted", subjects=client_of, calm=False):
        yield _finding_logged(burst, f"the consumer was deleted, {burst.story}", Severity.INFO)


def _finding_logged(burst: Burst, message: str, severity: Severity | None) -> Finding:
    return finding_of(burst, message, severity, remedy={} if burst.subject.stream else BY_HAND)


@check("consumer_lag.missing_declared")
def missing_declared(manifests: Manifests, snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Consumers of manifests that do not exist: new ones before a deploy, drift after one.

    Only the existence of the stream separates the two, so the finding stays an info.
    """
    deployed = Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        stream = deployed.stream(consumer.stream)
        if not consumer.config.durable_name or (stream is None and not deployed.streams(consumer.stream)):
            continue
        if unsure := indeterminate(consumer) or deployed.doubt(consumer, consumer.stream):
            yield unsure
        elif stream is None or not stream.consumers_seen:
            yield unknown(consumer.subject, "not all consumers of its stream were listed", "run again")
        elif consumer_of(stream, consumer.name) or consumer.planned_action is PlannedAction.REPLACED:
            yield passed(consumer.subject)
        else:
            yield failed(
                consumer.subject,
                f"its stream is deployed and this consumer is not: it will be created, and starts by deliver"
                f" policy {consumer.config.deliver_policy!r}; if it was deployed before, it was deleted",
                consumer.shows("durable_name", consumer.name),
                severity=Severity.INFO,
            )
