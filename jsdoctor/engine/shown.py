"""Running a check on evidence of which a part is not shown: what needs the rest is *not evaluated*, one by one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.finding import Finding, Outcome, Subject, unknown
from jsdoctor.model.partial import NotShownError

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
            evidence = evidence.without_subject(error.subject, kinds)
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
