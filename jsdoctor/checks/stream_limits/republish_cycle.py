"""JSD620: streams that republish to each other's subjects, so that a message goes round for ever."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.subjects import overlaps_any, subjects_overlap

_FUNCTION = re.compile(r"\{\{[^}]*\}\}|\$\d+")
"""The parts of a destination that the server fills in."""


@check("stream_limits.republish_cycle")
def republish_cycle(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Find cycles over several streams; the server only refuses a stream that republishes to its own subjects."""
    by_account: dict[tuple[str, str], list[Stream]] = defaultdict(list)
    for stream in snapshots.last.led_streams():
        if stream.config.republish:
            by_account[stream.domain, stream.account].append(stream)
    for streams in by_account.values():
        onward = {stream.name: [other.name for other in streams if _feeds(stream, other)] for stream in streams}
        for stream in streams:
            path = _cycle_from(stream.name, onward)
            yield _finding(stream, path) if path else passed(stream.subject)


def _feeds(first: Stream, second: Stream) -> bool:
    """Whether what the first republishes can be stored by the second and republished again."""
    republish, onward = first.config.republish, second.config.republish
    if republish is None or onward is None:
        return False
    # The destination with a wildcard for each token that is filled in.
    subject = ".".join("*" if _FUNCTION.search(token) else token for token in _tokens(republish.dest))
    return overlaps_any(subject, second.config.subjects) and subjects_overlap(subject, onward.src or ">")


def _tokens(destination: str) -> list[str]:
    """Split at the dots outside of functions, which may have some in their arguments."""
    held = _FUNCTION.sub(lambda function: function.group().replace(".", "\0"), destination)
    return [token.replace("\0", ".") for token in held.split(".")]


def _cycle_from(start: str, onward: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A shortest path of streams from `start` to itself; empty if there is none."""
    paths: list[tuple[str, ...]] = [(name,) for name in onward[start]]
    seen = set(onward[start])
    while paths:
        path = paths.pop(0)
        if path[-1] == start:
            return path
        paths += [(*path, name) for name in onward[path[-1]] if name not in seen]
        seen |= set(onward[path[-1]])
    return ()


def _finding(stream: Stream, path: tuple[str, ...]) -> Finding:
    republish = stream.config.republish
    return failed(
        stream.subject,
        f"what it republishes comes back over {' → '.join((stream.name, *path))}: each message is stored and"
        " republished again and again, as fast as the servers can, until one of the configurations is changed",
        stream.observed("config.republish.src", republish.src if republish else ""),
        stream.observed("config.republish.dest", republish.dest if republish else ""),
    )
