"""JSD416: a filter outside the subjects of its stream. The server accepts it and never delivers anything for it."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.stored_subjects import stored_subjects
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.subjects import overlaps_any


@check("consumer_lag.filter_matches_nothing")
def filter_matches_nothing(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Filters are compared with the subjects that messages are stored under (server: consumer.go checkConsumerCfg).

    A consumer with pending messages matches something, be it under subjects that the stream no longer takes in.
    """
    for stream, consumer in snapshots.last.led_consumers():
        filters, config = consumer.config.filters, stream.config
        subjects = stored_subjects(config.subjects, config.subject_transform)
        if not filters:
            continue
        idle = [wanted for wanted in filters if not overlaps_any(wanted, subjects)]
        elsewhere = _other_origin(stream, bool(idle))
        # What was delivered before proves nothing of a plain stream: its subjects may have been changed since.
        if consumer.num_pending or not (idle or elsewhere) or (elsewhere and consumer.delivered.consumer_seq):
            yield passed(consumer.subject)
        elif elsewhere:
            yield unknown(
                consumer.subject,
                f"its stream {elsewhere}, so what subjects it stores cannot be told from its configuration",
                f"compare with: nats stream subjects {stream.name}",
            )
        else:
            which = repr(idle[0]) if len(filters) == 1 else f"{len(idle)} of its {len(filters)} ({idle[0]!r})"
            yield Finding(
                subject=consumer.subject,
                message=(
                    f"filter {which} lies outside the subjects {_of_stream(stream)} ({_listed(subjects)}): "
                    "no message will ever match it"
                ),
                evidence=(
                    consumer.observed("config.filter_subjects", list(filters)),
                    stream.observed("config.subjects", list(config.subjects)),
                ),
            )


def _other_origin(stream: Stream, outside: bool) -> str:
    """Why the stream's own subjects do not tell what it stores; empty where they do.

    Where messages also come from elsewhere, only a filter `outside` the stream's own subjects is in doubt.
    """
    config = stream.config
    if outside and config.mirror is not None:
        return f"mirrors {config.mirror.name}"
    return f"takes messages from {config.sources[0].name}" if outside and config.sources else ""


def _of_stream(stream: Stream) -> str:
    return "that the stream rewrites its messages to" if stream.config.subject_transform else "of the stream"


def _listed(subjects: tuple[str, ...]) -> str:
    shown = ", ".join(subjects[:3])
    return shown if len(subjects) <= 3 else f"{shown} and {len(subjects) - 3:,} more"
