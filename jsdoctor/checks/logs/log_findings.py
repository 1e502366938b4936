"""Findings from bursts and incidents: what all of them carry, their subjects, and whether they still last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jsdoctor.checks.logs.bursts import Burst
from jsdoctor.checks.logs.log_incidents import LogIncident, index_of
from jsdoctor.checks.logs.words import latest, zoned
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed
from jsdoctor.model.log import LogEvidence, LogTime

LATELY_US = 600_000_000
"""What was logged within this time before the log ends may still last."""


_OPENING = "the log begins just before, without the start of the server, after which this is usual"


def finding_of(
    source: Burst | LogIncident,
    message: str,
    severity: Severity | None = None,
    *,
    confidence: Confidence = Confidence.HIGH,
    measured: tuple[int | None, int | None, str | None] | None = None,
    remedy: Mapping[str, str] | None = None,
) -> Finding:
    """A finding with the lines and times of its source; unless `measured` is given, with the number of lines.

    An info has low confidence if the log begins just before, without the server's start, after which it is usual.
    """
    opening = isinstance(source, LogIncident) and source.opening and severity is Severity.INFO
    return failed(
        source.subject,
        f"{message}; {_OPENING}" if opening else message,
        *source.evidence,
        severity=severity,
        confidence=Confidence.LOW if opening else confidence,
        measured=measured or (source.count if isinstance(source, Burst) else source.lines, None, "count"),
        between=(zoned(source.first), zoned(source.last)),
        remedy=remedy,
    )


def detailed_finding(source: Burst | LogIncident, what: str, effect: str, severity: Severity | None = None) -> Finding:
    """A finding whose message has the usual form: what it is, its story, and what follows or what to do."""
    return finding_of(source, f"{what}: {source.story}; {effect}", severity)


def findings_by_subject(
    incidents: Iterable[LogIncident],
    what: str,
    effect: str,
    unresolved: Severity | None = None,
    repeated: Severity = Severity.WARNING,
) -> Iterator[Finding]:
    """One finding for each notable incident, a pass for the others."""
    for incident in incidents:
        if incident.notable:
            yield detailed_finding(incident, what, effect, incident.severity(unresolved, repeated))
        else:
            yield passed(incident.subject)


def is_recent(logs: LogEvidence, burst: Burst, within_us: int = LATELY_US) -> bool:
    """Whether the last line is near the end of the logs of who wrote it. Lines without any time count as recent."""
    ends = [_end_of_log(logs, occurrence.logged_by, occurrence.zoned) for occurrence in burst.found]
    if burst.last is None:
        return True
    return any(
        end is None or occurrence.last is None or end.us - occurrence.last.us <= within_us
        for occurrence, end in zip(burst.found, ends, strict=True)
    )


def _end_of_log(logs: LogEvidence, logged_by: str, zoned: bool) -> LogTime | None:
    """When the log of a server ends; for others, the end of what was read of applications."""
    last = index_of(logs).last_of(logged_by)
    if last is not None and last.zoned == zoned:
        return last
    return latest([file.last for file in logs.files if file.client_lines and file.last and file.last.zoned == zoned])
