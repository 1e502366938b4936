"""The report as GitLab Code Quality: a JSON array of what a merge request shows. Complete, never cut.

The format knows nothing but files. What is not in a file gets a path that names it: `jetstream/ACCOUNT/STREAM/NAME`.
It has no place for gaps either: those, failed checks and rules that could not be judged are entries of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Severity, Subject, fingerprint
from jsdoctor.model.report import Report
from jsdoctor.render.escape import printable, without_lone_surrogates
from jsdoctor.render.findings import numbers
from jsdoctor.render.incidents import memberships
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order, with_outcome
from jsdoctor.render.places import file_path, places
from jsdoctor.render.unseen import undecided
from jsdoctor.render.wording import subjects

_SEVERITIES = {
    Severity.CRITICAL: "blocker",
    Severity.ERROR: "critical",
    Severity.WARNING: "major",
    Severity.INFO: "info",
}


class _Entry(NamedTuple):
    check: str
    severity: str
    description: str
    identity: str
    finding: Finding


def render(report: Report, options: RenderOptions) -> str:
    """One JSON array. Fingerprints are those of the report; where two would be equal, the later one is made unique."""
    occurrences: Counter[str] = Counter()
    issues = []
    for entry in _entries(report):
        occurrences[entry.identity] += 1
        path, line = _location(entry.finding)
        issues.append(
            {
                "description": printable(entry.description),
                "check_name": entry.check,
                "fingerprint": _unique(entry.identity, occurrences[entry.identity]),
                "severity": entry.severity,
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return dumps(issues, options.ascii_only)


def _entries(report: Report) -> Iterator[_Entry]:
    for result in with_outcome(report.results, Outcome.ERROR):
        code, finding = result.rule.code, result.finding
        text = f"{code} check failed: {finding.message}"
        yield _Entry("check-failed", "major", text, fingerprint(f"{code}.crash", finding.subject), finding)
    incidents = memberships(report)
    for result in by_urgency(report.failures()):
        finding, measured = result.finding, numbers(result.finding)
        text = f"{result.rule.slug}: {finding.subject.label}: {finding.message}"
        text += f" ({measured})" if measured else ""
        why = incidents[id(result)].explanation
        text += f" (explained by {why})" if why else ""
        yield _Entry(result.rule.code, _SEVERITIES[result.severity], text, result.fingerprint, finding)
    for gap in gaps_in_order(report.gaps):
        text = f"not seen: {gap.subject.label}: {_with_advice(gap.reason, gap.how_to_get)}"
        identity = fingerprint(f"gap.{gap.kind}", gap.subject)
        yield _Entry("gap", ("info", "major")[gap.requested], text, identity, Finding(subject=gap.subject))
    for group in undecided(report):
        codes = ", ".join(sorted(group.codes))
        subject = group.subjects[0] if group.subjects else CLUSTER
        many = f" ({subjects(group.subjects)})" if group.subjects else ""
        text = f"not evaluated: {codes}{many}: {_with_advice(group.reason, group.how_to_get)}"
        yield _Entry(
            "not-evaluated", "info", text, fingerprint(f"{codes}.undecided", subject), Finding(subject=subject)
        )


def _with_advice(reason: str, how_to_get: str) -> str:
    return f"{reason} → {how_to_get}" if how_to_get else reason


def _location(finding: Finding) -> tuple[str, int]:
    for place in places(finding):
        return file_path(place.file) or "unknown", max(place.line, 1)
    return _path_for_subject(finding.subject), 1


def _path_for_subject(subject: Subject) -> str:
    """A path for a subject that is no file. Each part is quoted, so that no name can leave `jetstream/`."""
    parts = [part for part in (subject.account, subject.stream, subject.name) if part] or [subject.kind]
    quoted = (quote(without_lone_surrogates(part), safe="$*") for part in parts)
    return "/".join(("jetstream", *(part.replace(".", "%2E") if set(part) == {"."} else part for part in quoted)))


def _unique(identity: str, occurrence: int) -> str:
    return identity if occurrence == 1 else sha256(f"{identity} {occurrence}".encode()).hexdigest()[:16]
