"""What a run says of files that were given and are no kind of evidence."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.app.evidence_request import Unrecognised
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap

NEAREST = (
    "jsdoctor check reads bundles, archives of nats audit gather, logs, packet captures, manifests, replies of servers"
    " in JSON and output of the nats command; for the text of an error: jsdoctor diagnose FILE"
)


def with_gaps(evidence: EvidenceSet, unrecognised: Sequence[Unrecognised]) -> EvidenceSet:
    """The evidence with a gap for every file that is no evidence: the user named it, so the run is inconclusive."""
    gaps = gaps_of(unrecognised)
    return evidence.joined(evidence.get(Gaps) or Gaps(()), gaps) if gaps else evidence


def gaps_of(unrecognised: Sequence[Unrecognised]) -> tuple[Gap, ...]:
    """A requested gap for each file that is no evidence."""
    return tuple(
        Gap(
            kind="input",
            subject=Subject(kind="file", name=candidate.name),
            reason=f"{candidate.name} is not recognised" + (f": {candidate.why}" if candidate.why else ""),
            how_to_get=NEAREST,
        )
        for candidate in unrecognised
    )
