"""JSD819: reloads of the configuration that a server refused."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.log_incidents import index_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.log import LogEvidence, Occurrence


@check("server_health.reload_rejected_logged", lines_of="servers")
def reload_rejected_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report refused reloads: after a signal only the log shows the error (server: signal.go handleSignals)."""
    log_bursts = bursts(logs, "reload-refused", calm=False)
    intervals = logs.intervals_of("reload-refused")
    pending = {(interval.logged_by, interval.fields) for interval in intervals if interval.resolved is None}
    resolved = {(interval.logged_by, interval.fields) for interval in intervals} - pending
    for burst in log_bursts:
        open_ = [occurrence for occurrence in burst.found if (occurrence.logged_by, occurrence.fields) in pending]
        reasons = dict.fromkeys(reason for occurrence in open_ or burst.found if (reason := _reason(occurrence)))
        solved = not open_ and all((occurrence.logged_by, occurrence.fields) in resolved for occurrence in burst.found)
        blind = index_of(logs).lacks_level(burst.subject.name, "INF")
        yield finding_of(
            burst,
            f"it refused to reload its configuration, {'; '.join(reasons)} ({burst.story}); {_effect(solved, blind)}",
            Severity.INFO if solved else None,
        )


def _effect(solved: bool, blind: bool) -> str:
    """What follows from a refused reload. `over`: a later one succeeded; `blind`: the log could not show that."""
    if solved:
        return "a later reload or start succeeded"
    settings = "it goes on with its old settings; the next start uses the file as it is now"
    if blind:
        return f"the log has no lines of level INF, which would report a later success; until then {settings}"
    return f"no later line reports a reload or start that succeeded: {settings}"


def _reason(occurrence: Occurrence) -> str | None:
    """The text of the newest line that is kept, with its numbers."""
    texts = [dict(line.fields).get("reason") for line in occurrence.exemplars]
    return texts[-1] if texts else occurrence.value("reason")
