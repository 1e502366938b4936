"""JSD803: JetStream was switched off on a server that went on running, as its log tells."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.log_findings import by_server, finding_of
from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence, ProcessRun

_CAUSES = {
    "jetstream-out-of-resources": "it could not write for lack of space (the disk is full, or looked so)",
    "jetstream-removed-from-cluster": "the server was removed from the cluster while it ran",
    "jetstream-write-forbidden": "it may not write to its store directory",
    "jetstream-restart-failed": "it could not start again",
}
_LATER_US = 5_000_000


@check("server_health.disabled_logged")
def disabled_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Off until the server is started anew, so the next start ends it (jetstream.go DisableJetStream)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    explained: set[str] = set()
    for trouble in log_incidents(logs, *_CAUSES, subjects=by_server, calm=False):
        explained.add(trouble.subject.name)
        yield _finding(trouble)
    silent = [run for run in logs.runs if _went_on(run) and run.server not in explained]
    for run in {run.server: run for run in silent}.values():
        yield _unexplained(run, later=run is not logs.runs_of(run.server)[-1])
    if not explained and not silent:
        yield passed(CLUSTER)


def _finding(trouble: LogIncident) -> Finding:
    causes = list(dict.fromkeys(_CAUSES[spell.signature] for spell in trouble.spells))
    lasting = any(spell.resolved is None for spell in trouble.spells)
    ended = Severity.WARNING
    return finding_of(
        trouble,
        f"JetStream was switched off on this server: {'; '.join(causes)}. {trouble.story.capitalize()}."
        + (" It stays off until the server is started again" if lasting else " The server was started again since"),
        None if lasting else ended,
    )


def _went_on(run: ProcessRun) -> bool:
    stopped = run.jetstream_stopped
    return stopped is not None and (_by_reload(run) or (run.last is not None and run.last.us - stopped.us > _LATER_US))


def _by_reload(run: ProcessRun) -> bool:
    """A server that stops reloads nothing: the lines of a reload end right after those of the shutdown."""
    stopped, reloaded = run.jetstream_stopped, run.reloaded
    return stopped is not None and reloaded is not None and 0 <= reloaded.us - stopped.us <= _LATER_US


def _unexplained(run: ProcessRun, *, later: bool) -> Finding:
    line = run.exemplar
    why = (
        "a reload of its configuration did it, which has no jetstream block then"
        if _by_reload(run)
        else "the log does not say why"
    )
    return Finding(
        subject=Subject(kind="server", name=run.server),
        severity=Severity.WARNING if later else None,
        message=f"JetStream was shut down at {run.jetstream_stopped} and the server went on without it; {why}"
        + (". It was started again since" if later else ""),
        evidence=(Observation(line.file if line else run.server, "jetstream_stopped", str(run.jetstream_stopped)),),
    )
