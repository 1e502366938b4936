"""JSD416: a filter outside the subjects of its stream. The server accepts it and never delivers anything for it.

From manifests: a filter outside the subjects that its stream will have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.declared.deployed import Declarations, Deployed
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.checks.streams.limits import stored_subjects
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.subjects import overlaps_any

_SHOWN = 3


@check("consumer_lag.filter_matches_nothing")
def filter_matches_nothing(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Compare filters with the subjects that messages are stored under (server: consumer.go checkConsumerCfg).

    A consumer with pending messages matches something, perhaps under subjects that the stream had before.
    """
    streams = snapshots.last.led_by_key
    for stream, consumer in snapshots.last.led_consumers():
        filters, config = consumer.config.filters, stream.config
        copied = _copied_subjects(stream, streams)
        subjects = (*stored_subjects(config.subjects, config.subject_transform), *(copied or ()))
        if not filters:
            continue
        unmatched = [wanted for wanted in filters if not overlaps_any(wanted, subjects)]
        elsewhere = "" if copied is not None else _other_origin(stream, bool(unmatched))
        # What was delivered before proves nothing of a plain stream: its subjects may have been changed since.
        hidden = bool(consumer.num_pending) and 0 < len(unmatched) < len(filters) and not elsewhere
        if not hidden and (
            consumer.num_pending or not (unmatched or elsewhere) or (elsewhere and consumer.delivered.consumer_seq)
        ):
            yield passed(consumer.subject)
        elif elsewhere:
            yield unknown(
                consumer.subject,
                f"its stream {elsewhere}, so its configuration does not show what subjects it stores",
                f"compare with: nats stream subjects {stream.name}",
            )
        else:
            yield _no_match(stream, consumer, unmatched, subjects, hidden)


def _no_match(
    stream: Stream, consumer: Consumer, unmatched: list[str], subjects: tuple[str, ...], hidden: bool
) -> Finding:
    """The finding for filters outside the subjects. `hidden`: other filters of the consumer have pending messages."""
    filters, config = consumer.config.filters, stream.config
    which = (
        f"filter {unmatched[0]!r} matches"
        if len(filters) == 1
        else f"{len(unmatched)} of {len(filters)} filters ({unmatched[0]!r}) match"
    )
    return failed(
        consumer.subject,
        f"{which} no {'new ' if hidden else ''}message: the subjects {_whose(stream)} are {_listed(subjects)}",
        consumer.observed("config.filter_subjects", list(filters)),
        stream.observed("config.subjects", list(config.subjects)),
        severity=Severity.INFO if hidden else None,
    )


def _copied_subjects(stream: Stream, streams: Mapping[tuple[str, str], Stream]) -> tuple[str, ...] | None:
    """The subjects of the streams that a stream copies; None if they are not known, or are transformed.

    Origins that copy others themselves, and those of other accounts or domains, are not followed.
    """
    config = stream.config
    sources = config.origins
    if not sources or config.subject_transform:
        return None
    copied: list[str] = []
    for source in sources:
        origin = streams.get((stream.account, source.name)) if source.external is None else None
        if origin is None or source.subject_transforms or origin.config.mirror or origin.config.sources:
            return None
        copied += stored_subjects(origin.config.subjects, origin.config.subject_transform)
    return tuple(dict.fromkeys(copied))


def _other_origin(stream: Stream, outside: bool) -> str:
    """Why the stream's own subjects do not show what it stores; empty if they do.

    If messages also come from elsewhere, only a filter `outside` the stream's own subjects is in doubt.
    """
    config = stream.config
    if outside and config.mirror is not None:
        return f"mirrors {config.mirror.name}"
    return f"takes messages from {config.sources[0].name}" if outside and config.sources else ""


def _whose(stream: Stream) -> str:
    if stream.config.mirror or stream.config.sources:
        return "of the stream and of what it copies"
    return "that the stream rewrites its messages to" if stream.config.subject_transform else "of the stream"


def _listed(subjects: tuple[str, ...]) -> str:
    shown = ", ".join(subjects[:_SHOWN]) or "none"
    return shown if len(subjects) <= _SHOWN else f"{shown} and {len(subjects) - _SHOWN:,} more"


@check("consumer_lag.filter_matches_nothing_declared")
def filter_matches_nothing_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Filters are compared with the subjects that messages are stored under (server: consumer.go checkConsumerCfg)."""
    known, deployed = Declarations(manifests), Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        filters = consumer.stored.filters
        declared, deployed_stream = known.stream_of(consumer), deployed.stream(consumer.stream)
        stream = declared.stored if declared else deployed_stream.config if deployed_stream else None
        if unsure := indeterminate(consumer, "filter_subject", "filter_subjects", "stream_name"):
            yield unsure
        elif not filters:
            continue
        elif unsure := indeterminate(declared, "subjects") if declared else None:
            yield unknown(consumer.subject, unsure.message, unsure.how_to_get)
        elif stream is None:
            yield unknown(
                consumer.subject,
                f"its stream {consumer.stream} is in no manifest"
                if consumer.stream
                else "no stream is named beside it",
                "give the manifest of its stream too, or name the deployment (-s URL or --bundle FILE)",
            )
        else:
            unmatched = [wanted for wanted in filters if not overlaps_any(wanted, stream.subjects)]
            if not unmatched:
                yield passed(consumer.subject)
                continue
            if stream.subject_transform or stream.mirror or stream.sources:
                text = "its stream takes messages from elsewhere or rewrites subjects: what it stores is not known"
                yield unknown(consumer.subject, text, f"once it is deployed: nats stream subjects {stream.name}")
                continue
            yield failed(
                consumer.subject,
                f"filter {unmatched[0]!r} lies outside the subjects of the stream"
                f" ({_listed(stream.subjects)}): the server accepts it and no message will ever match"
                f"{did_you_mean(unmatched[0], [_filled(subject, unmatched[0]) for subject in stream.subjects])}",
                consumer.at("filter_subject", "filter_subjects").shows(f"filter: {unmatched[0]}"),
            )


def _filled(subject: str, wanted: str) -> str:
    """A subject with the words of a filter in the place of its wildcards."""
    words = wanted.split(".")
    tokens = subject.split(".")
    filled = [words[at] if token == "*" and at < len(words) else token for at, token in enumerate(tokens)]
    return ".".join([*filled[:-1], *words[len(tokens) - 1 :]] if tokens[-1] == ">" else filled)
