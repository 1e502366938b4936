"""JSD610: a stream that acknowledges nothing leaves every publisher that waits without a reply.

From manifests: a stream that will acknowledge nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, failed, passed
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.partial import shown_or
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_SYSTEM_SUBJECTS = ("$JS.", "$SYS.")


@check("stream_limits.no_ack")
def no_ack(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Judge `no_ack`, with which publishers get no ack for stored messages (server: stream.go, `canRespond`).

    Streams without subjects have no publishers. The server's events need no ack, and a stream of `>` must not send any.
    """
    for stream in snapshots.last.streams:
        has_publishers = _has_publishers(stream)
        if has_publishers is False:
            continue
        if not stream.config.no_ack or (has_publishers and _has_system_subjects_only(stream)):
            yield passed(stream.subject)
            continue
        yield failed(
            stream.subject,
            "no_ack is set: a publisher that waits times out although its message is stored, "
            "and stores it again with every retry",
            stream.observed("config.no_ack", stream.config.no_ack),
            confidence=Confidence.HIGH if has_publishers else Confidence.MEDIUM,
        )


def _has_publishers(stream: Stream) -> bool | None:
    """Whether clients publish to a stream; None if a pasted part of a reply does not show its subjects."""
    return shown_or(lambda: bool(stream.config.subjects) and not stream.config.mirror, otherwise=None)


def _has_system_subjects_only(stream: Stream) -> bool:
    return all(subject == ">" or subject.startswith(_SYSTEM_SUBJECTS) for subject in stream.config.subjects)


@check("stream_limits.no_ack_declared")
def no_ack_declared(manifests: Manifests) -> Iterator[Finding]:
    """Judge declared `no_ack`, with which publishers get no ack for stored messages."""
    for stream in manifests.kept_streams():
        config = stream.stored
        if not config.subjects or config.mirror:
            continue
        if unsure := indeterminate(stream, "no_ack", "subjects"):
            yield unsure
        elif not config.no_ack or all(s == ">" or s.startswith(_SYSTEM_SUBJECTS) for s in config.subjects):
            yield passed(stream.subject)
        else:
            yield failed(
                stream.subject,
                "no_ack is set: a publisher that waits times out although its message is stored, and stores it"
                " again with every retry",
                stream.shows("no_ack", value=True),
            )
