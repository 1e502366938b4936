"""JSD409: messages that were delivered as often as `max_deliver` allows: they are not delivered again.

From recorded advisories, in logs or in a stream: messages that reached their delivery limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import histories, key, moved, patience_ns, quiet_ns
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.registry import check
from jsdoctor.model.advisories import AdvisoryKind
from jsdoctor.model.finding import (
    CLUSTER,
    Confidence,
    Finding,
    Severity,
    Subject,
    failed,
    passed,
    shown,
    suspected,
    unknown,
)
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from jsdoctor.model.stored import AdvisoryStreams, moment
from jsdoctor.model.subjects import overlaps_any
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted, listed, span

_ONCE, _TWICE = 1, 2
_MAX_INTERVAL_S = 60
"""Samples further apart than this show that messages stay at their limit."""
_MAX_MOVE_S = 10
"""Time in which an application moves dead letters elsewhere, on a busy machine too."""
_SECOND_NS = 1_000_000_000

_HIDDEN = "with max_deliver 1 the server does not keep count of the messages that it gave up"
_HOW_TO_RECORD = "record the advisories: a stream on $JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>, which --scan reads"


@check("consumer_lag.max_deliver_exhausted")
def max_deliver_exhausted(snapshots: SnapshotSeries, trend: Trend | None) -> Iterator[Finding]:
    """Judge what one reading proves; only advisories show the rest (server: consumer.go hasMaxDeliveries)."""
    for stream, consumer in snapshots.last.led_consumers():
        if consumer.config.max_deliver < _ONCE or consumer.config.ack_policy != "explicit":
            continue
        at_limit = _at_limit_and_stored(stream, consumer)
        if at_limit > 0 and (temporary := _why_temporary(trend, stream, consumer, at_limit)):
            yield suspected(consumer.subject, temporary, "run with --samples 5, or again in a minute")
        elif at_limit > 0:
            reader = reader_of_advisories(snapshots.last, stream, consumer)
            misnamed = None if reader else misnamed_keeper(snapshots.last, stream)
            yield _finding(stream, consumer, at_limit, reader, misnamed)
        elif consumer.config.max_deliver > _ONCE or consumer.delivered.consumer_seq == 0:
            yield passed(consumer.subject)
        else:
            yield unknown(consumer.subject, _HIDDEN, _HOW_TO_RECORD)


def _at_limit_and_stored(stream: Stream, consumer: Consumer) -> int:
    return min(_at_limit(consumer), _stored_of_delivered(stream, consumer))


def _why_temporary(trend: Trend | None, stream: Stream, consumer: Consumer, at_limit: int) -> str:
    """Why messages at their limit may be removed in a moment; empty: nothing shows that.

    Applications move such messages elsewhere when their advisories arrive, and a stream and its consumer are read at
    slightly different times. Where acknowledgements remove messages, one that stays soon is the oldest of the stream.
    """
    has = "has" if at_limit == 1 else "have"
    reached = f"in the last sample {counted(at_limit, 'message')} {has} reached max_deliver"
    history = histories(trend).get(key(consumer))
    removes, first = stream.config.retention != "limits", stream.state.first_ts
    works = history is None or moved(history)
    if removes and works and first and (age_s := (stream.at - first).total_seconds()) < _MAX_MOVE_S:
        return f"{reached}, and the oldest message of the stream is {span(round(age_s) * _SECOND_NS)} old"
    if history is None or (consumer.at - history.readings[-2].at).total_seconds() >= _MAX_INTERVAL_S:
        return ""
    before, now = history.streams[-2:]
    if not _at_limit_and_stored(before, history.readings[-2]):
        return f"{reached}, in the one before none"
    if removes and now.state.first_seq > before.state.first_seq:
        return f"{reached}, and the oldest messages of the stream were removed since the one before"
    return ""


def _at_limit(consumer: Consumer) -> int:
    """Lower bound of the messages that reached `max_deliver`.

    `num_redelivered` counts all unacknowledged messages that were delivered more than once.
    """
    if consumer.num_redelivered > consumer.num_ack_pending:
        return consumer.num_redelivered - consumer.num_ack_pending
    quiet, patience = quiet_ns(consumer), patience_ns(consumer)
    if consumer.config.max_deliver == _TWICE and (quiet or 0) > patience:
        # Twice delivered is as often as allowed, and the time to acknowledge is over.
        return consumer.num_redelivered
    # While it works, the ack floor of a replicated consumer is a moment older than what is pending: it comes from the
    # store of the state that its servers agreed on (server: consumer.go infoWithSnapAndReply).
    rests = quiet is None or quiet > patience
    behind = consumer.ack_floor.consumer_seq < consumer.delivered.consumer_seq
    return int(consumer.config.max_deliver == _ONCE and consumer.num_ack_pending == 0 and behind and rests)


def _stored_of_delivered(stream: Stream, consumer: Consumer) -> int:
    """Upper bound of the delivered messages that the stream still has: servers before 2.14 count removed ones, too."""
    held = min(stream.state.messages, consumer.delivered.stream_seq - stream.state.first_seq + 1)
    if stream.config.retention != "limits" and len(stream.consumers) == 1 and not consumer.config.filters:
        # What waits and what is worked on is the rest of what such a stream holds.
        held = min(held, stream.state.messages - consumer.num_pending - consumer.num_ack_pending)
    return max(0, held)


def _attempts_text(consumer: Consumer) -> str:
    """Half a sentence on what uses up the attempts: a lost connection, or a fault as long as all waits together."""
    config = consumer.config
    if config.max_deliver == _ONCE and consumer.delivered.consumer_seq > consumer.delivered.stream_seq:
        return ": it was lowered after they had been tried more often"
    if config.max_deliver == _ONCE:
        return ", the only attempt: a worker that dies or a lost connection suffices"
    waits = [*config.backoff_ns[: config.max_deliver]] or [config.ack_wait_ns]
    total_ns = sum(waits) + waits[-1] * (config.max_deliver - len(waits))
    return f", which takes {span(total_ns)} of silence, or as many refusals without a delay"


def _advisory_reader_text(reader: Consumer | None, misnamed: tuple[Stream, str] | None) -> str:
    """Half a sentence on who reads the advisories, or on a stream whose subject captures none of them."""
    if reader:
        return f"; {reader.name} reads their advisories from {reader.stream}"
    if misnamed is None:
        return ""
    keeper, subject = misnamed
    return f"; {keeper.name} captures {subject}, which no advisory has as its subject: they are {ADVISORIES}"


def _finding(
    stream: Stream, consumer: Consumer, at_limit: int, reader: Consumer | None, misnamed: tuple[Stream, str] | None
) -> Finding:
    config = consumer.config
    stays = "stay in the stream and take its room" if stream.config.retention != "limits" else "stay in the stream"
    return failed(
        consumer.subject,
        f"at least {counted(at_limit, 'message')} reached max_deliver ({config.max_deliver:,}) without an "
        f"acknowledgement{_attempts_text(consumer)}: they {stays}, and this consumer never gets them again"
        f"{_advisory_reader_text(reader, misnamed)}",
        *shown(consumer, "num_redelivered", "num_ack_pending", "config.max_deliver", "ack_floor.consumer_seq"),
        *shown(consumer, "delivered.consumer_seq"),
        severity=Severity.INFO if reader else None,
        confidence=Confidence.MEDIUM,
        measured=(at_limit, 0, "count"),
    )


_SEQUENCES_SHOWN = 10
"""How many sequences a message names."""


@check("consumer_lag.max_deliver_exhausted_recorded")
def max_deliver_exhausted_recorded(advisories: AdvisoryStreams, snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Name the messages by recorded advisories. A message that was acknowledged late is recorded, but no longer counts.

    With a limit of one nothing else shows them.
    """
    led = {consumer.subject: (stream, consumer) for stream, consumer in snapshots.last.led_consumers()}
    for read in advisories.streams:
        for advisory in read.recorded(AdvisoryKind.MAX_DELIVER):
            subject = Subject(kind="consumer", name=advisory.consumer, account=read.account, stream=advisory.stream)
            if subject not in led:
                continue
            stream, consumer = led[subject]
            left = [seq for seq in advisory.sequences if stream.state.first_seq <= seq <= stream.state.last_seq]
            known = consumer.config.max_deliver == _ONCE or _at_limit_and_stored(stream, consumer) > 0
            if not (left and known) or (consumer.created and moment(advisory.last_ns) < consumer.created):
                continue
            reader = reader_of_advisories(snapshots.last, stream, consumer)
            yield failed(
                subject,
                f"stream {read.stream} recorded that {counted(advisory.count, 'message')} reached max_deliver"
                f" ({consumer.config.max_deliver:,}) without an acknowledgement in time, of those still in the stream"
                f" {listed((f'{seq:,}' for seq in left), _SEQUENCES_SHOWN)}: this consumer does not deliver them again"
                f"{_advisory_reader_text(reader, None)}",
                read.observed(advisory.kind, left),
                severity=Severity.INFO if reader else None,
                confidence=Confidence.MEDIUM,
                measured=(len(left), 0, "count"),
                between=(moment(advisory.first_ns), moment(advisory.last_ns)),
            )


_OTHER_ADVISORIES = ("advisory-stream-action", "advisory-consumer-deleted")


@check("consumer_lag.max_deliver_exhausted_logged")
def max_deliver_exhausted_logged(logs: LogEvidence) -> Iterator[Finding]:
    """One finding for each consumer. Passes only if the logs have other advisories: servers do not log these."""
    log_bursts = bursts(logs, "advisory-max-deliver", "advisory-max-deliver-short", calm=False)
    for burst in log_bursts:
        measures = [measure for occurrence in burst.found if (measure := occurrence.measure("stream_seq"))]
        low, high = min((m.smallest for m in measures), default=0), max((m.largest for m in measures), default=0)
        which = f"message {low:,}" if low == high else f"messages between {low:,} and {high:,}"
        yield finding_of(
            burst,
            f"the delivery limit was reached, {burst.story}, for {which} of the stream: they stay in it and this"
            " consumer does not deliver them again",
        )
    if not log_bursts and logs.total(*_OTHER_ADVISORIES):
        yield passed(CLUSTER)
    elif not log_bursts:
        why = "servers do not log this, and no advisories were recorded in these logs"
        yield unknown(CLUSTER, why, "record $JS.EVENT.ADVISORY.> into a stream or a file")


_KIND = "MAX_DELIVERIES"
ADVISORIES = f"$JS.EVENT.ADVISORY.CONSUMER.{_KIND}.*.*"
"""Their subjects, which end in the names of stream and consumer."""


def reader_of_advisories(
    snapshot: ClusterSnapshot, stream: Stream, consumer: Consumer, kind: str = _KIND
) -> Consumer | None:
    """A consumer that has had deliveries from a stream of the account that captures the advisories, or None.

    Clients that subscribe to advisories without a stream do not show.
    """
    subject = f"$JS.EVENT.ADVISORY.CONSUMER.{kind}.{consumer.stream}.{consumer.name}"
    for keeper, reader in snapshot.led_consumers():
        together = (keeper.account, keeper.domain) == (stream.account, stream.domain)
        takes = overlaps_any(subject, keeper.config.subjects) and overlaps_any(
            subject, reader.config.filters or (subject,)
        )
        if together and reader.delivered.consumer_seq and takes:
            return reader
    return None


def misnamed_keeper(snapshot: ClusterSnapshot, stream: Stream) -> tuple[Stream, str] | None:
    """A stream of the account with a subject that seems to capture these advisories and does not, and that subject."""
    for keeper in snapshot.led_streams():
        if (keeper.account, keeper.domain) == (stream.account, stream.domain):
            for subject in keeper.config.subjects:
                if {"ADVISORY", _KIND} <= {*subject.split(".")} and not overlaps_any(subject, (ADVISORIES,)):
                    return keeper, subject
    return None
