"""JSD609: a manifest that sets limits and leaves to a default what happens when they are reached."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.manifest import DeclaredStream, Manifests

_LIMITS = ("max_bytes", "max_msgs")


@check("stream_limits.discard_unstated_declared")
def discard_unstated_declared(manifests: Manifests) -> Iterator[Finding]:
    """Find limits without a discard policy: the default, `old`, deletes silently, `new` refuses with error 10077."""
    for stream in manifests.kept_streams():
        config = stream.stored
        limits = [name for name in _LIMITS if getattr(config, name) > 0]
        if config.mirror or config.sealed:
            continue
        if unsure := indeterminate(stream, *_LIMITS):
            yield unsure
        elif limits and stream.states("discard"):
            yield passed(stream.subject)
        elif limits:
            yield _finding(stream, limits[0])


def _finding(stream: DeclaredStream, limit: str) -> Finding:
    lost = (
        "the oldest messages" if stream.stored.retention == "limits" else "messages that no consumer has processed yet"
    )
    return failed(
        stream.subject,
        f"{limit} is set and the discard policy is not: by default a full stream deletes {lost} silently;"
        " write discard: old if that is intended, discard: new if publishers shall be refused",
        stream.shows(limit, getattr(stream.stored, limit)),
    )
