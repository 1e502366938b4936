"""Reads pasted or saved replies and command output, and reports the given files that are no evidence."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.app.evidence import Gathered
from jsdoctor.app.evidence_request import PastedText, Unrecognised
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.report import Source
from jsdoctor.parse.pasted.kinds import pasted_replies
from jsdoctor.parse.pasted.sample import Pasted, pasted_sample

NEAREST = (
    "jsdoctor check reads bundles, archives of nats audit gather, logs, packet captures, manifests, replies of servers"
    " in JSON and output of the nats command; for the text of an error: jsdoctor diagnose FILE"
)


def gather_pasted(texts: Sequence[PastedText]) -> tuple[Gathered, Pasted]:
    """Combine all texts into one sample of one deployment."""
    found = [one for text in texts for one in pasted_replies(text.text, text.at)]
    at = max(text.at for text in texts)
    pasted = pasted_sample(found, at)
    sources = tuple(Source("pasted", text.name, text.at) for text in texts)
    return Gathered((pasted.sample,), sources, captured_at=at), pasted


def with_gaps(evidence: EvidenceSet, unrecognised: Sequence[Unrecognised]) -> EvidenceSet:
    """The evidence with a gap for every file that is no evidence: the user named it, so the run is inconclusive."""
    gaps = gaps_of(unrecognised)
    return evidence.joined(evidence.get(Gaps) or Gaps(()), gaps) if gaps else evidence


def gaps_of(unrecognised: Sequence[Unrecognised]) -> tuple[Gap, ...]:
    """A requested gap for each file that is no evidence."""
    return tuple(
        Gap(
            kind="input",
            subject=Subject(kind="file", name=one.name),
            reason=f"{one.name} is not recognised" + (f": {one.why}" if one.why else ""),
            how_to_get=NEAREST,
        )
        for one in unrecognised
    )
