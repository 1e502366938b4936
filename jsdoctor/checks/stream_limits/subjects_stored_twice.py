"""JSD627: streams of two domains with the same subjects, of which one copies the other: messages are stored twice."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.jetstream import SourceConfig
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.subjects import common_subject
from jsdoctor.model.wording import counted


@check("stream_limits.subjects_stored_twice")
def subjects_stored_twice(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Compare the subjects of copies with those of origins in other domains.

    A leaf node passes on what has subscribers on the other side, such as a stream. Within a domain the server refuses
    overlapping subjects.
    """
    streams = {(stream.domain, stream.own_account, stream.name): stream for stream in snapshots.last.led_streams()}
    for copy in snapshots.last.led_streams():
        sources = [(source, source.external.domain) for source in copy.config.sources if source.external]
        linked = [(source, domain) for source, domain in sources if domain not in ("", copy.domain)]
        if not linked or not copy.config.subjects:
            continue
        origins = [(source, streams.get((domain, copy.own_account, source.name))) for source, domain in linked]
        shared = [
            (origin, common) for source, origin in origins if origin and (common := _shared(copy, source, origin))
        ]
        if shared:
            yield _finding(copy, shared)
        elif all(origin is None for _, origin in origins):
            away = ", ".join(sorted({domain for _, domain in linked}))
            yield unknown(
                copy.subject,
                f"what it copies from domain {away} was not collected, so that its subjects are not known",
                "use a login that sees both domains, or one of each",
            )
        else:
            yield passed(copy.subject)


def _shared(copy: Stream, source: SourceConfig, origin: Stream) -> list[str]:
    """Subjects that both listen to and that the source takes."""
    transformed = [transform.src or ">" for transform in source.subject_transforms]
    wanted = transformed or [source.filter_subject or ">"]
    common = {common_subject(own, other) for own in copy.config.subjects for other in origin.config.subjects} - {""}
    return sorted({common_subject(subject, taken) for subject in common for taken in wanted} - {""})


def _finding(copy: Stream, shared: list[tuple[Stream, list[str]]]) -> Finding:
    """The finding; numbers of messages are no proof, as each stream has its own limits and publishers."""
    held = sum(origin.state.messages for origin, _ in shared)
    named = ", ".join(f"{origin.name}@{origin.domain or '(no domain)'}" for origin, _ in shared)
    subjects = ", ".join(sorted({subject for _, common in shared for subject in common}))
    return failed(
        copy.subject,
        f"it listens to {subjects} as {named} does, which it copies: unless the link between the domains does"
        " not let these subjects pass, each message is stored here as it is published and again as a copy. It has"
        f" {counted(copy.state.messages, 'message')}, and what it copies has {held:,}",
        copy.observed("config.subjects", list(copy.config.subjects)),
        copy.observed("state.messages", copy.state.messages),
        *(origin.observed(f"{origin.name}.config.subjects", list(origin.config.subjects)) for origin, _ in shared),
        *(origin.observed(f"{origin.name}.state.messages", origin.state.messages) for origin, _ in shared),
        measured=(copy.state.messages, None, "count"),
    )
