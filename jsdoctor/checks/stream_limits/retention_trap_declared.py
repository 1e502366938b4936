"""JSD604, from manifests: work-queue and interest retention that does not fit the declared consumers."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.declared.index import Declarations
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, passed
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.subjects import overlaps_any


@check("stream_limits.retention_trap_declared")
def retention_trap_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Who removes a message: everybody interested (interest), or the one consumer that takes it (workqueue).

    Applications may create consumers that no manifest names, so only a reader that is there is held against a stream.
    """
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    for stream in manifests.kept_streams():
        if stream.stored.retention == "limits" or stream.stored.sealed:
            continue
        consumers = _consumers(stream, declared, deployed)
        if unsure := indeterminate(stream, "retention", "subjects"):
            yield unsure
        elif copies := declared.copies_of(stream):
            yield _finding(
                stream,
                f"{', '.join(copies)} will read this {stream.stored.retention} stream as a mirror or source: before"
                " server 2.14 without acknowledging, so that what is removed while that link is down never arrives",
                Severity.WARNING,
            )
        elif not consumers:
            yield _finding(stream, _nobody(stream), Severity.INFO)
        elif idle := _uncovered(stream, consumers):
            yield _finding(
                stream,
                f"no consumer takes {', '.join(idle)}: what is published there stays in this work queue for ever",
                Severity.WARNING,
            )
        elif limited := sorted(name for name, config in consumers.items() if config.max_deliver > 0):
            yield _stranding(stream, limited)
        else:
            yield passed(stream.subject)


def _consumers(stream: DeclaredStream, declared: Declarations, deployed: Deployed) -> dict[str, ConsumerConfig]:
    there = deployed.stream(stream.name)
    found = {consumer.name: consumer.config for consumer in (there.consumers if there else ())}
    return found | {consumer.name: consumer.stored for consumer in declared.consumers_of(stream)}


def _nobody(stream: DeclaredStream) -> str:
    if stream.stored.retention == "workqueue":
        return "no manifest declares a consumer of this work queue: until an application creates one, messages pile up"
    return (
        "no manifest declares a consumer of this interest stream: until an application creates one, what is published"
        " is acknowledged and dropped"
    )


def _uncovered(stream: DeclaredStream, consumers: dict[str, ConsumerConfig]) -> list[str]:
    config, filters = stream.stored, [consumer.filters for consumer in consumers.values()]
    if config.retention != "workqueue" or config.subject_transform or not all(filters):
        return []
    wanted = tuple(one for patterns in filters for one in patterns)
    return [subject for subject in config.subjects if not overlaps_any(subject, wanted)]


def _stranding(stream: DeclaredStream, limited: list[str]) -> Finding:
    """An age limit removes what was given up."""
    if stream.stored.max_age_ns > 0:
        return passed(stream.subject)
    says = (
        f"what {', '.join(limited)} gives up after max_deliver attempts stays in this {stream.stored.retention} stream"
    )
    return _finding(
        stream, f"{says} for ever: set max_age, or take such messages away by their advisories", Severity.INFO
    )


def _finding(stream: DeclaredStream, says: str, severity: Severity) -> Finding:
    return Finding(
        subject=stream.subject,
        severity=severity,
        confidence=Confidence.MEDIUM,
        message=says,
        evidence=(stream.shows("retention", stream.stored.retention),),
        remedy=BY_HAND,
    )
