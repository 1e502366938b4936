"""JSD805: processes that did not end in order, and servers that do not stay up, by their logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.logs.index import index_of
from jsdoctor.checks.logs.words import no_server_lines, times, when, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, passed
from jsdoctor.model.log import CrashLoop, LogEvidence, ProcessRun

_BROKEN = ("unclean", "interrupted")
_CRASHES = 2
"""Of the processes of a loop: many starts after stops in order are somebody's work."""


@check("server_health.restarted_logged")
def restarted_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Who is killed says nothing: the next start is the only trace. Starts after a stop in order are no fault."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    several = [loop for loop in logs.crash_loops if loop.unclean >= _CRASHES]
    loops = {loop.server: loop for loop in sorted(several, key=lambda loop: loop.starts)}
    for server in dict.fromkeys(run.server for run in logs.runs):
        runs = index_of(logs).runs_of(server)
        broken = [run for run in runs if run.end in _BROKEN or run.panic]
        if broken or server in loops:
            yield _finding(server, runs, broken, loops.get(server))
        else:
            yield passed(Subject(kind="server", name=server))


def _finding(server: str, runs: Sequence[ProcessRun], broken: Sequence[ProcessRun], loop: CrashLoop | None) -> Finding:
    panics = [run for run in broken if run.panic]
    doubtful = not panics and loop is None and not any(run.same_file for run in broken)
    severity = Severity.ERROR if loop or panics else Severity.INFO if doubtful else None
    last = (broken or runs)[-1]
    return Finding(
        subject=Subject(kind="server", name=server),
        severity=severity,
        message=_words(broken, panics, loop, last)
        + ("; perhaps only the file that tells of its end is missing" if doubtful else ""),
        measured=len(broken) or (loop.starts if loop else 0),
        threshold=0,
        unit="count",
        evidence=tuple(_observed(run) for run in (broken or runs)[-3:]),
        first_seen=zoned((broken or runs)[0].last),
        last_seen=zoned(last.last),
    )


def _words(broken: Sequence[ProcessRun], panics: Sequence[ProcessRun], loop: CrashLoop | None, last: ProcessRun) -> str:
    parts = []
    if loop:
        parts.append(f"it was started {times(loop.starts)}{when(loop.began, loop.ended)}: it does not stay up")
    if panics:
        parts.append(f"it crashed {times(len(panics))}, last with `{panics[-1].panic[:120]}`")
    rest = len(broken) - len(panics)
    if rest:
        what = "a process" if rest == 1 else f"{rest:,} processes"
        parts.append(
            f"{what} ended without a word, last at {last.last}: killed (out of memory, kill -9), or the host went away"
        )
    return "; ".join(parts)


def _observed(run: ProcessRun) -> Observation:
    line = run.exemplar
    return Observation(line.file if line else run.server, "last line of the process", str(run.last), zoned(run.last))
