"""Running a check on evidence of which a part is not shown: what needs the rest is *not evaluated*, one by one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.finding import Finding, Outcome, Subject, unknown
from jsdoctor.model.history import History
from jsdoctor.model.links import Links
from jsdoctor.model.partial import NotShownError, raw_field
from jsdoctor.model.server import Servers
from jsdoctor.model.server_past import PastSample, ServerPast
from jsdoctor.model.server_trend import ServerTrend
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.trend import Trend

_MAX = 32
"""After this many subjects with missing fields the rest of a check is not evaluated as a whole."""


def findings_of_shown(
    run: Callable[[EvidenceSet], Iterable[Finding]], evidence: EvidenceSet, kinds: Collection[type[Evidence]]
) -> list[Finding]:
    """The findings of a check for all subjects that are shown well enough, and `unknown` for each of the others.

    A fault that it found before it came to what is not shown stands: it was found in what is shown, and the evidence
    without that subject may clear it. `kinds` is the evidence that the check takes: a history of many samples is not
    rewritten for a check without it.
    """
    missing: dict[Subject, Finding] = {}
    faults: dict[Subject, list[Finding]] = {}
    while True:
        all_findings: list[Finding] = []
        try:
            all_findings.extend(run(evidence))
        except NotShownError as error:
            if error.subject in missing or len(missing) >= _MAX:
                return _joined(all_findings, faults, missing)
            missing[error.subject] = unknown(error.subject, f"{error}", error.how_to_get)
            evidence = _without(evidence, error.subject, kinds)
            for subject, findings in _faults(all_findings).items():
                faults.setdefault(subject, findings)
        else:
            return _joined(all_findings, faults, missing)


def _faults(findings: Iterable[Finding]) -> dict[Subject, list[Finding]]:
    by_subject: dict[Subject, list[Finding]] = {}
    for finding in findings:
        if finding.outcome is Outcome.FAIL:
            by_subject.setdefault(finding.subject, []).append(finding)
    return by_subject


def _joined(
    all_findings: list[Finding], faults: Mapping[Subject, Sequence[Finding]], missing: Mapping[Subject, Finding]
) -> list[Finding]:
    if not faults and not missing:  # everything is shown, as in most runs
        return all_findings
    kept = [finding for finding in all_findings if finding.subject not in faults]
    return [
        *(finding for findings in faults.values() for finding in findings),
        *kept,
        *(finding for subject, finding in missing.items() if subject not in faults),
    ]


def _without(evidence: EvidenceSet, subject: Subject, kinds: Collection[type[Evidence]]) -> EvidenceSet:
    """The evidence without a subject, in every kind that samples give and the check takes."""
    of_servers, of_assets = (Servers, ServerTrend, Links, ServerPast), (SnapshotSeries, Trend, History)
    for kind in of_servers if subject.kind == "server" else of_assets:
        known = evidence.get(kind) if kind in kinds else None
        if isinstance(known, Servers):
            kept = tuple(server for server in known.servers if server.name != subject.name)
            evidence = evidence.joined(msgspec.structs.replace(known, servers=kept))
        elif isinstance(known, ServerTrend):
            histories = tuple(server for server in known.servers if server.last.name != subject.name)
            evidence = evidence.joined(ServerTrend(histories))
        elif isinstance(known, Links):
            kept_links = tuple(server for server in known.servers if server.server != subject.name)
            evidence = evidence.joined(msgspec.structs.replace(known, servers=kept_links))
        elif isinstance(known, ServerPast):
            evidence = evidence.joined(ServerPast(tuple(_past_sample(sample, subject) for sample in known.samples)))
        elif isinstance(known, SnapshotSeries | Trend | History):
            evidence = evidence.joined(type(known)(tuple(_snapshot(snapshot, subject) for snapshot in known.snapshots)))
    return evidence


def _past_sample(sample: PastSample, subject: Subject) -> PastSample:
    servers = tuple(server for server in sample.servers if server.name != subject.name)
    return PastSample(sample.at, servers, tuple(link for link in sample.links if link.server != subject.name))


def _snapshot(snapshot: ClusterSnapshot, subject: Subject) -> ClusterSnapshot:
    """A consumer that is left out still exists: no check may conclude that its stream has none."""
    streams = []
    for stream in snapshot.streams:
        if stream.subject == subject:
            continue
        known = raw_field(stream, "consumers")
        kept = tuple(consumer for consumer in known if consumer.subject != subject)
        changed = len(kept) < len(known)
        streams.append(msgspec.structs.replace(stream, consumers=kept, consumers_seen=False) if changed else stream)
    return msgspec.structs.replace(snapshot, streams=tuple(streams))
