"""Asking a deployment for the subjects of streams whose limit for each subject a manifest lowers."""

from __future__ import annotations

from msgspec.structs import replace

from jsdoctor.app.connection import resolve_connection
from jsdoctor.app.evidence_request import EvidenceRequest
from jsdoctor.checks.declared.deletions import lowers_subject_limit
from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.parse.configuration import Configuration


def with_subject_counts(evidence: EvidenceSet, request: EvidenceRequest, config: Configuration) -> EvidenceSet:
    """With the counts, where a login of the account itself can have them: the system account has no streams."""
    manifests, snapshots = evidence.get(Manifests), evidence.get(SnapshotSeries)
    if manifests is None or snapshots is None:
        return evidence
    if request.bundle is not None or request.pasted or evidence.get(Servers) is not None:
        return evidence
    deployed = Deployed(snapshots)
    wanted = [
        stream.name
        for stream in manifests.kept_streams()
        if (current := deployed.stream(stream.name)) and lowers_subject_limit(stream.asked(current.config), current)
    ]
    if not wanted:
        return evidence
    from jsdoctor.collect.manifests.subject_counts import subject_counts

    counts = subject_counts(resolve_connection(request.connection, config), dict.fromkeys(wanted))
    return evidence.joined(replace(manifests, subject_counts=counts))
