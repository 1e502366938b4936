"""JSD422: push consumers of one stream that deliver the same messages to the same subject."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import key
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.subjects import overlaps_any

_ALL = (">",)


@check("consumer_lag.delivers_twice")
def delivers_twice(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Compare push consumers with one deliver subject, which the server does not do (server: consumer.go).

    Both must be in every sample: a consumer that is being replaced exists beside its successor for a moment.
    """
    lasting = set.intersection(
        *({key(c) for s in sample.streams for c in s.consumers} for sample in snapshots.snapshots)
    )
    by_subject: dict[tuple[str, str, str], list[Consumer]] = defaultdict(list)
    for stream, consumer in snapshots.last.led_consumers():
        if consumer.config.deliver_subject and not consumer.paused:
            by_subject[(*stream.key, consumer.config.deliver_subject)].append(consumer)
    for consumers in by_subject.values():
        ordered = sorted(consumers, key=_oldest_first)
        for number, consumer in enumerate(ordered):
            older = [each for each in ordered[:number] if _filters_overlap(each, consumer) and key(each) in lasting]
            twice = older and key(consumer) in lasting
            yield _finding(consumer, older[0]) if twice else passed(consumer.subject)


def _oldest_first(consumer: Consumer) -> tuple[bool, float, str]:
    created = consumer.created
    return created is None, created.timestamp() if created else 0.0, consumer.name


def _filters_overlap(first: Consumer, second: Consumer) -> bool:
    theirs = second.config.filters or _ALL
    return any(overlaps_any(filter_, theirs) for filter_ in first.config.filters or _ALL)


def _finding(consumer: Consumer, older: Consumer) -> Finding:
    bound = consumer.push_bound or older.push_bound
    subject = consumer.config.deliver_subject
    return failed(
        consumer.subject,
        f"consumer {older.name!r} of the same stream also delivers to {subject!r}: each subscriber "
        f"{'receives' if bound else 'will receive'} each message twice, once from each consumer",
        consumer.observed("config.deliver_subject", subject),
        older.observed("config.deliver_subject", older.config.deliver_subject),
        consumer.observed("push_bound", consumer.push_bound),
        severity=None if bound else Severity.INFO,
    )
