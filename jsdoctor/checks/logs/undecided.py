"""Lines that match a rule and prove nothing by themselves: too few, or without times. They are shown, not passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.logs.words import times
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, suspected, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.rule import Rule
from jsdoctor.model.wording import counted

EXCERPT_LINES = 5
"""Logs of no more lines than this are an excerpt: lines outside of it may change the result."""

SHORT_LOG_LINES = 20
"""With fewer lines than this, and without a complete start of a server, no rule passes on logs."""

_MAX_CHARACTERS = 200
_DECIDED = (Outcome.FAIL, Outcome.NOT_EVALUATED, Outcome.ERROR)


def is_short(logs: LogEvidence) -> bool:
    """Whether the logs are so few lines that a rule without a match is not evaluated."""
    lines = sum(file.server_lines + file.client_lines for file in logs.files)
    return lines < SHORT_LOG_LINES and not any(run.started and run.ready for run in logs.runs)


def clears_nothing(rule: Rule, logs: LogEvidence) -> bool:
    """Whether a rule without a match is not evaluated: the logs are too short, or lines may be missing."""
    return is_short(logs) or bool(_missing(rule, logs))


def _missing(rule: Rule, logs: LogEvidence) -> list[str]:
    return [signature.name for signature in rule.signatures if signature.name in logs.unsearched]


def not_cleared(rule: Rule, logs: LogEvidence) -> Finding:
    """`unknown` for a rule without findings, where the logs are too short or may lack lines."""
    missing = _missing(rule, logs)
    if missing:
        return unknown(
            CLUSTER,
            f"nothing about it is in the log lines that were read, which may not be every line of {missing[0]}",
            "give the logs themselves: --logs PATH; or capture a bundle again with this version and a shorter --since,"
            " or read Loki with a query that filters no lines",
        )
    lines = sum(file.server_lines + file.client_lines for file in logs.files)
    return unknown(
        CLUSTER,
        f"nothing about it is in the log, which is an excerpt of {counted(lines, 'line')}",
        f"give more of the log: {SHORT_LOG_LINES} lines, or the start of the server until it is ready",
    )


def undecided(rule: Rule, findings: Sequence[Finding], logs: LogEvidence) -> Iterator[Finding]:
    """A suspicion for a rule that passed although its lines were logged, in an excerpt or without times.

    Lines that only report an end do not count.
    """
    if any(finding.outcome in _DECIDED for finding in findings):
        return
    endings = {name for signature in rule.signatures for name in signature.endings}
    names = [signature.name for signature in rule.signatures if signature.resolved_by or signature.name not in endings]
    excerpt = sum(file.server_lines + file.client_lines for file in logs.files) <= EXCERPT_LINES
    matched = [occurrence for occurrence in logs.occurrences(*names) if excerpt or occurrence.dated < occurrence.count]
    if matched:
        line = next((line.text for occurrence in matched for line in occurrence.exemplars), "")
        why = "an excerpt as short as this does not decide" if excerpt else "without times nothing decides"
        yield suspected(
            matched[0].subject,
            f"logged {times(sum(occurrence.count for occurrence in matched))}, and {why} whether it matters:"
            f" {line[:_MAX_CHARACTERS]}",
            "give more of the log, with its times, and the logs of the other servers",
        )
