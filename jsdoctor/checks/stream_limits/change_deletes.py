"""JSD615: a change that deletes stored messages as soon as it is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.declared import deletions, stream_refusals
from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.checks.declared.doubts import indeterminate, refused_by_tool
from jsdoctor.checks.declared.refusal import certain
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, failed, passed, shown, unknown
from jsdoctor.model.manifest import DeclaredStream, Manifests, PlannedAction
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted

_ATTRIBUTES = {"max_age": "max_age_ns"}


@check("stream_limits.change_deletes_declared")
def change_deletes_declared(
    manifests: Manifests, snapshots: SnapshotSeries | None, servers: Servers | None, connected: ConnectedServer | None
) -> Iterator[Finding]:
    """Report deletions by planned actions of Terraform, and by changes to deployed streams and consumers."""
    deployed = Deployed(snapshots)
    for stream in manifests.streams:
        current = deployed.stream(stream.name)
        if stream.planned_action is not PlannedAction.KEPT:
            held = f" with its {counted(current.state.messages, 'message')}" if current else " with all its messages"
            deletes = stream.planned_action is PlannedAction.DELETED
            what = "deletes the stream" if deletes else "replaces the stream: it is deleted"
            yield failed(
                stream.subject,
                f"the plan {what}{held} and consumers",
                stream.place.shows(f"{stream.what}: {stream.planned_action}"),
            )
        elif not deployed.seen:
            continue
        elif unsure := indeterminate(stream, *stream.unknown) or deployed.doubt(stream, stream.name):
            yield unsure
        elif current is not None:
            server = release(version_at(current.answered_by, servers, connected))
            yield _change_finding(stream, current, server, manifests.subject_counts.get(stream.name))
    yield from _consumers(manifests, deployed)


def _consumers(manifests: Manifests, deployed: Deployed) -> Iterator[Finding]:
    """Consumers of interest streams whose new filters leave out messages which are kept for them."""
    for consumer in manifests.kept_consumers():
        stream = deployed.stream(consumer.stream)
        current = consumer_of(stream, consumer.name)
        if stream is None or current is None or not consumer.may_update or refused_by_tool(consumer):
            continue
        if unsure := indeterminate(consumer, "filter_subject", "filter_subjects"):
            yield unsure
        elif deletion := deletions.of_filters(consumer.stored, current, stream):
            field = "filter_subjects" if consumer.stored.filter_subjects else "filter_subject"
            yield failed(
                consumer.subject,
                deletion.says,
                consumer.shows(field, ", ".join(consumer.stored.filters)),
                confidence=Confidence.HIGH if deletion.exact else Confidence.MEDIUM,
                measured=(deletion.messages, 0, "count"),
            )


def _change_finding(
    stream: DeclaredStream, current: Stream, server: tuple[int, ...], subjects: Mapping[str, int] | None
) -> Finding:
    wanted = stream.after_update(current.config, server)
    changes = list(deletions.of_change(wanted, current, server, subjects))
    # What the server refuses deletes nothing: JSD614 reports it.
    if not changes or not stream.may_update or certain(stream_refusals.of_change(wanted, current.config, {}), server):
        return passed(stream.subject)
    if all(deletion.unsure for deletion in changes):
        how = "use a login of the stream's account, live: it can ask how many messages each subject holds"
        return unknown(stream.subject, changes[0].says, how)
    known = [deletion.messages for deletion in changes if deletion.messages]
    exact = len(changes) == 1 and changes[0].exact and bool(known)
    return failed(
        stream.subject,
        "; ".join(deletion.says for deletion in changes),
        *(
            stream.shows(deletion.field, getattr(wanted, _ATTRIBUTES.get(deletion.field, deletion.field)))
            for deletion in changes
        ),
        *shown(current, "state.messages", "state.bytes"),
        confidence=Confidence.HIGH if exact else Confidence.MEDIUM,
        measured=(max(known) if known else None, 0, "count"),
    )
