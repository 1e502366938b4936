"""JSD615: a change that deletes stored messages as soon as it is applied."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared import deletions, stream_changes
from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.checks.declared.doubts import BY_HAND, doubt
from jsdoctor.checks.declared.refusal import certain
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.manifest import DeclaredStream, Fate, Manifests
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted

_FIELDS = ("max_age", "max_bytes", "max_msgs", "max_msgs_per_subject", "retention")


@check("stream_limits.change_deletes_declared")
def change_deletes_declared(
    manifests: Manifests,
    snapshots: SnapshotSeries | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
) -> Iterator[Finding]:
    """A plan of Terraform says of itself that it deletes or replaces; everything else needs the deployment's state."""
    deployed = Deployed(snapshots)
    for stream in manifests.streams:
        current = deployed.stream(stream.name)
        if stream.fate is not Fate.KEPT:
            yield _whole(stream, current)
        elif not deployed.seen:
            continue
        elif unsure := doubt(stream, *_FIELDS) or deployed.doubt(stream, stream.name):
            yield unsure
        elif current is not None:
            yield _changed(stream, current, release(version_at(current.answered_by, servers, connected)))


def _whole(stream: DeclaredStream, current: Stream | None) -> Finding:
    held = f" with its {counted(current.state.messages, 'message')}" if current else " with all its messages"
    what = "deletes the stream" if stream.fate is Fate.DELETED else "replaces the stream: it is deleted"
    return Finding(
        subject=stream.subject,
        message=f"the plan {what}{held} and consumers",
        evidence=(stream.place.shows(f"{stream.what}: {stream.fate}"),),
        remedy=BY_HAND,
    )


def _changed(stream: DeclaredStream, current: Stream, server: tuple[int, ...]) -> Finding:
    wanted = stream.after_update(current.config, server)
    found = list(deletions.of_change(wanted, current, server))
    # What the server refuses deletes nothing: JSD614 speaks.
    if not found or not stream.may_update or certain(stream_changes.of_change(wanted, current.config, {}), server):
        return passed(stream.subject)
    known = [deletion.messages for deletion in found if deletion.messages]
    return Finding(
        subject=stream.subject,
        message="; ".join(deletion.says for deletion in found),
        measured=max(known) if known else None,
        threshold=0 if known else None,
        unit="count" if known else None,
        evidence=(
            *(stream.shows(deletion.field, getattr(wanted, _attribute(deletion.field))) for deletion in found),
            current.observed("state.messages", current.state.messages),
            current.observed("state.bytes", current.state.bytes),
        ),
        remedy=BY_HAND,
    )


def _attribute(field: str) -> str:
    return "max_age_ns" if field == "max_age" else field
