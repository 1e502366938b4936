"""What mirrors and sources do not take of their origin by their configuration: subjects, starts, large messages."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.stream_limits.origins import Deployment
from jsdoctor.checks.streams.stored_subjects import stored_subjects
from jsdoctor.model.finding import Severity
from jsdoctor.model.jetstream import SourceConfig
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.subjects import overlaps_any
from jsdoctor.model.wording import span

_SEVERAL = 2


def filters_without_subjects(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin, and what is wrong, for each filter that no subject of its origin can match.

    Nothing for the copy of one origin that has messages: they may have matched before the origin's subjects were
    changed. Nothing for origins that copy others themselves, as they store messages under the subjects of those.
    """
    for source in _without_messages(stream):
        wanted = _wanted(source)
        origin = deployment.present_origin(stream, source) if wanted else None
        if origin is None or origin.config.mirror or origin.config.sources or not origin.config.subjects:
            continue
        subjects = stored_subjects(origin.config.subjects, origin.config.subject_transform)
        if not any(overlaps_any(text, subjects) for text in wanted):
            named = ", ".join(repr(text) for text in wanted[:3])
            yield (
                source.name,
                f"it takes {named} of {source.name}, which stores {', '.join(subjects[:3])}: no message is ever copied",
            )


def starts_past_origin(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str, Severity]]:
    """The origin, and what is wrong, for each copy that starts at a message or a time that is not there yet.

    A time that is to come may be meant, a sequence is that of an origin that was there before.

    The start acts once, so it counts only while nothing was copied (server: stream.go setupMirrorConsumer).
    """
    for source in _without_messages(stream):
        origin = deployment.present_origin(stream, source)
        if origin is None:
            continue
        waits_ns = int((source.opt_start_time - origin.at).total_seconds() * 1e9) if source.opt_start_time else 0
        if source.opt_start_seq > origin.state.last_seq + 1:
            text = f"it starts at message {source.opt_start_seq:,} of {source.name}, which ends at"
            yield source.name, f"{text} {origin.state.last_seq:,}: what comes before is not copied", Severity.WARNING
        elif waits_ns > 0:
            text = f"it starts at a time that is {span(waits_ns)} ahead: nothing of {source.name} is copied"
            yield source.name, text, Severity.INFO


def _without_messages(stream: Stream) -> tuple[SourceConfig, ...]:
    """The origins from which nothing may have come: all, where the copy is empty, or where another one fills it."""
    config = stream.config
    sources = config.origins
    return () if stream.state.messages and len(sources) < _SEVERAL else sources


def sizes_below_origin(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin, and what is wrong, for each origin that takes larger messages than the copy.

    A server refuses to create such a copy, and does not look again when its origin is changed (server: stream.go).
    """
    config, limit = stream.config, stream.config.max_msg_size
    for source in config.origins:
        origin = deployment.present_origin(stream, source) if limit > 0 else None
        if origin is not None and not 0 < origin.config.max_msg_size <= limit:
            theirs = f"{origin.config.max_msg_size:,} bytes" if origin.config.max_msg_size > 0 else "any size"
            text = f"it takes messages of up to {limit:,} bytes, and {source.name} those of {theirs}"
            yield source.name, f"{text}: larger ones are not copied, and no lag is reported"


def _wanted(source: SourceConfig) -> tuple[str, ...]:
    """The subjects that it takes; empty for all. A source takes only what one of its transforms matches."""
    if source.subject_transforms:
        return tuple(transform.src or ">" for transform in source.subject_transforms)
    return (source.filter_subject,) if source.filter_subject else ()
