"""JSD625: streams that copy from each other over domains, so that a message comes back to where it was published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.jetstream import SourceConfig
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream, StreamKey
from jsdoctor.model.subjects import common_subject

Copies = Mapping[StreamKey, Sequence[tuple[SourceConfig, StreamKey]]]
"""By stream, the sources that copy from it, each with its copy."""

_FUNCTION = re.compile(r"\{\{[^}]*\}\}|\$\d+")
"""The parts of a destination that the server fills in."""


@check("stream_limits.source_cycle")
def source_cycle(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Find cycles over domains; a server only compares the streams of its own. Streams without origins are left out."""
    streams = {stream.key_in_domain: stream for stream in snapshots.last.led_streams()}
    before = {stream.key_in_domain: stream for stream in snapshots.snapshots[0].led_streams()}
    copies: dict[StreamKey, list[tuple[SourceConfig, StreamKey]]] = {}
    for key, stream in streams.items():
        for source in stream.config.origins:
            if origin := stream.key_of_origin(source):
                copies.setdefault(origin, []).append((source, key))
    for key, stream in streams.items():
        origins = [origin for source in stream.config.origins if (origin := stream.key_of_origin(source))]
        if not origins:
            continue
        path = _cycle_from(key, copies, streams)
        away = sorted({origin[0] for origin in origins if origin not in streams and origin[0] != stream.domain})
        if path:
            yield _finding(before, [streams[step] for step in path], params)
        elif away:
            yield unknown(
                stream.subject,
                f"what it copies from domain {', '.join(away)} was not collected, so that it is not known whether that"
                " copies from here",
                "use a login that sees both domains, or one of each",
            )
        else:
            yield passed(stream.subject)


def _cycle_from(start: StreamKey, copies: Copies, streams: Mapping[StreamKey, Stream]) -> tuple[StreamKey, ...]:
    """A shortest path of copies along which a message of `start` comes back to it; empty if there is none.

    A message that came back once goes round for ever: all filters on the path let it through.
    """
    paths: list[tuple[tuple[StreamKey, ...], str]] = [((start,), subject) for subject in streams[start].config.subjects]
    seen: set[tuple[StreamKey, str]] = set()
    while paths:
        path, subject = paths.pop(0)
        for source, copy in copies.get(path[-1], ()):
            for stored in _stored_subjects(source, subject, streams[copy]):
                if copy == start and _repeats(path, stored, copies, streams):
                    return (*path, copy)
                if copy not in path and (copy, stored) not in seen:
                    seen.add((copy, stored))
                    paths.append(((*path, copy), stored))
    return ()


def _repeats(path: tuple[StreamKey, ...], subject: str, copies: Copies, streams: Mapping[StreamKey, Stream]) -> bool:
    """Whether messages that came back are copied along the same path again: transforms may lead out of it."""
    subjects = [subject]
    for origin, copy in zip(path, (*path[1:], path[0]), strict=True):
        subjects = [
            stored
            for source, to in copies.get(origin, ())
            if to == copy
            for before in subjects
            for stored in _stored_subjects(source, before, streams[copy])
        ]
    return bool(subjects)


def _stored_subjects(source: SourceConfig, subject: str, copy: Stream) -> Iterator[str]:
    """The subjects under which the copy stores messages of that pattern. Its own transform is not followed."""
    if copy.config.subject_transform is not None:
        return
    filters = [(source.filter_subject, "")] if source.filter_subject else []
    filters += [(transform.src, transform.dest) for transform in source.subject_transforms]
    for wanted, destination in filters or [(">", "")]:
        common = common_subject(wanted or ">", subject)
        if common:
            yield _pattern(destination) if destination else common


def _pattern(destination: str) -> str:
    """The destination with a wildcard for each token that is filled in."""
    return ".".join("*" if _FUNCTION.search(token) else token for token in _FUNCTION.sub("$1", destination).split("."))


def _finding(before: Mapping[StreamKey, Stream], path: list[Stream], params: Params) -> Finding:
    """The finding: a warning or an info if a duplicate window stops messages with ids, never an error then."""
    stream = path[0]
    rate = min(_stored_per_s(before.get(each.key_in_domain), each) for each in path)
    windows = sorted({each.name for each in path if each.config.duplicate_window_ns > 0})
    severity = Severity.WARNING if rate >= params.number("min_rate") else Severity.INFO
    circle = " → ".join(_named(each) for each in path)
    stops = (
        f"only messages with a Nats-Msg-Id are stopped, by the duplicate window of {', '.join(windows)}"
        if windows
        else "no stream of them has a duplicate window, which would stop messages with a Nats-Msg-Id"
    )
    return failed(
        stream.subject,
        f"what it stores comes back over {circle}, and is copied again: {stops}; each of these streams stores"
        f" at least {rate:,.0f} messages/s now",
        *(each.observed(f"{_named(each)}.state.last_seq", each.state.last_seq) for each in path[:-1]),
        severity=severity if windows else None,
        measured=(round(rate, 1), params.number("min_rate"), "per_second"),
    )


def _named(stream: Stream) -> str:
    return f"{stream.name}@{stream.domain}" if stream.domain else stream.name


def _stored_per_s(earlier: Stream | None, stream: Stream) -> float:
    """Messages per second that a stream stored since the earlier reading; 0 if there is none."""
    elapsed_s = (stream.at - earlier.at).total_seconds() if earlier else 0.0
    if earlier is None or elapsed_s <= 0:
        return 0.0
    return max(stream.state.last_seq - earlier.state.last_seq, 0) / elapsed_s
