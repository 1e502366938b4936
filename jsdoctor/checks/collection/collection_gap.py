"""JSD901: evidence that was requested and could not be collected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.evidence import Gaps
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Subject, failed, passed
from jsdoctor.model.gap import Gap


@check("collection.collection_gap")
def collection_gap(gaps: Gaps) -> Iterator[Finding]:
    """What was not seen was not judged: a run with gaps that finds nothing has not shown that nothing is there."""
    by_subject: dict[Subject, list[Gap]] = defaultdict(list)
    for gap in gaps.gaps:
        if gap.requested:
            by_subject[gap.subject].append(gap)
    if not by_subject:
        yield passed(CLUSTER)
    for subject, subject_gaps in by_subject.items():
        yield failed(
            subject,
            "; ".join(dict.fromkeys(gap.reason for gap in subject_gaps)),
            *(Observation("jsdoctor", f"gap.{gap.kind}", gap.reason) for gap in subject_gaps),
            how_to_get="; ".join(dict.fromkeys(gap.how_to_get for gap in subject_gaps)),
        )
