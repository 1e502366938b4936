"""Running a check on evidence of which a part is not shown: what needs the rest is *not evaluated*, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Subject, unknown
from jsdoctor.model.partial import NotShownError
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries

_MOST = 32
"""After so many subjects with missing fields the rest of a check is not evaluated as a whole."""


def findings_of_shown(run: Callable[[EvidenceSet], Iterable[Finding]], evidence: EvidenceSet) -> list[Finding]:
    """What a check says of all subjects that are shown well enough, and `unknown` for each of the others."""
    missing: dict[Subject, Finding] = {}
    while True:
        found: list[Finding] = []
        try:
            found.extend(run(evidence))
        except NotShownError as error:
            if error.subject in missing or len(missing) >= _MOST:
                return [*found, *missing.values()]
            missing[error.subject] = unknown(error.subject, f"{error}", error.how_to_get)
            evidence = _without(evidence, error.subject)
        else:
            return [*found, *missing.values()]


def _without(evidence: EvidenceSet, subject: Subject) -> EvidenceSet:
    series, servers = evidence.get(SnapshotSeries), evidence.get(Servers)
    if subject.kind == "server" and isinstance(servers, Servers):
        kept = tuple(server for server in servers.servers if server.name != subject.name)
        return evidence.joined(msgspec.structs.replace(servers, servers=kept))
    if isinstance(series, SnapshotSeries):
        return evidence.joined(SnapshotSeries(tuple(_snapshot(one, subject) for one in series.snapshots)))
    return evidence


def _snapshot(snapshot: ClusterSnapshot, subject: Subject) -> ClusterSnapshot:
    streams = []
    for stream in snapshot.streams:
        if stream.subject == subject:
            continue
        kept = tuple(consumer for consumer in stream.consumers if consumer.subject != subject)
        changed = len(kept) < len(stream.consumers)
        streams.append(msgspec.structs.replace(stream, consumers=kept) if changed else stream)
    return msgspec.structs.replace(snapshot, streams=tuple(streams))
