"""What mirrors and sources do not take of their origin by their configuration: subjects, and large messages."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.stored_subjects import stored_subjects
from jsdoctor.checks.stream_limits.origins import Deployment
from jsdoctor.model.jetstream import SourceConfig
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.subjects import overlaps_any


def filters_without_subjects(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin, and what is wrong, for each filter that no subject of its origin can match.

    Nothing for a copy that has messages: they may have matched before the origin's subjects were changed. Nothing for
    origins that copy others themselves, as they store messages under the subjects of those.
    """
    if stream.state.messages:
        return
    config = stream.config
    for source in (config.mirror,) if config.mirror else config.sources:
        wanted = _wanted(source)
        origin = deployment.present_origin(stream, source) if wanted and source.external is None else None
        if origin is None or origin.config.mirror or origin.config.sources or not origin.config.subjects:
            continue
        subjects = stored_subjects(origin.config.subjects, origin.config.subject_transform)
        if not any(overlaps_any(text, subjects) for text in wanted):
            named = ", ".join(repr(text) for text in wanted[:3])
            yield (
                source.name,
                f"it takes {named} of {source.name}, which stores {', '.join(subjects[:3])}: no message is ever copied",
            )


def sizes_below_origin(stream: Stream, deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The origin, and what is wrong, for each origin that takes larger messages than the copy.

    A server refuses to create such a copy, and does not look again when its origin is changed (server: stream.go).
    """
    config, limit = stream.config, stream.config.max_msg_size
    for source in (config.mirror,) if config.mirror else config.sources:
        origin = deployment.present_origin(stream, source) if limit > 0 and source.external is None else None
        if origin is not None and not 0 < origin.config.max_msg_size <= limit:
            theirs = f"{origin.config.max_msg_size:,} bytes" if origin.config.max_msg_size > 0 else "any size"
            text = f"it takes messages of up to {limit:,} bytes, and {source.name} those of {theirs}"
            yield source.name, f"{text}: larger ones are not copied, and no lag is reported"


def _wanted(source: SourceConfig) -> tuple[str, ...]:
    """The subjects that it takes; empty for all. A source takes only what one of its transforms matches."""
    if source.subject_transforms:
        return tuple(transform.src or ">" for transform in source.subject_transforms)
    return (source.filter_subject,) if source.filter_subject else ()
