"""JSD104: the time of a server's lines goes back within one process."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.words import no_server_lines, times, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, Subject, failed, passed, unknown
from jsdoctor.model.log import LogClockStep, LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_MINUTE_NS = 60_000_000_000
_HALF_HOUR_NS = 30 * _MINUTE_NS
_SHOWN = 3


@check("clock_skew.clock_stepped_logged")
def clock_stepped_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Judge the largest step of each server. The end of summer time is no step."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    for file in logs.files:
        if file.interleaved:
            why = "lines of several servers are mixed in this file, so the order of their times shows nothing"
            yield unknown(Subject(kind="file", name=file.path), why, "name the log of each server by itself")
    for server in logs.servers:
        steps = [step for step in logs.clock_steps if step.server == server.name and not _is_end_of_summer_time(step)]
        subject = Subject(kind="server", name=server.name)
        yield _finding(subject, steps, params) if steps else passed(subject)


def _is_end_of_summer_time(step: LogClockStep) -> bool:
    """Whether a step goes back by half an hour or an hour, give or take a minute."""
    return any(abs(step.step_ns + half_hours * _HALF_HOUR_NS) < _MINUTE_NS for half_hours in (1, 2))


def _finding(subject: Subject, steps: list[LogClockStep], params: Params) -> Finding:
    worst = min(steps, key=lambda step: step.step_ns)
    size_ns = -worst.step_ns
    is_large = worst.only and size_ns >= params.integer("warning")
    if worst.only:
        message = (
            f"its clock was set back by {span(size_ns)} while it ran: a line of {worst.before} is followed by one of"
            f" {worst.after}; ids and messages stored before are kept that much longer than they should be"
        )
    else:
        message = (
            f"the times in its log go back {times(len(steps))}, by up to {span(size_ns)}: its clock was set back, or"
            " the file was merged from several"
        )
    return failed(
        subject,
        message,
        *(step.exemplar.observed for step in steps[:_SHOWN]),
        severity=None if is_large else Severity.INFO,
        confidence=Confidence.HIGH if worst.only else Confidence.LOW,
        measured=(size_ns, params.integer("warning"), "duration"),
        between=(zoned(min(step.before for step in steps)), zoned(max(step.after for step in steps))),
    )
