"""JSD801: health checks that failed, by the lines that the server writes for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jsdoctor.checks.logs.log_findings import by_server, finding_of
from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence, Spell

_ASKED = ("must not be empty", "not found on account")
"""The check was asked about one stream, and asked wrongly: that says nothing about the server."""

_CATCHING_UP = ("not current", "still recovering", "group node unhealthy")


@check("server_health.unhealthy_logged")
def unhealthy_logged(logs: LogEvidence) -> Iterator[Finding]:
    """One line per probe that fails, none when it is healthy again: silence of some beats ends it (monitor.go)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    quiet = True
    for trouble in log_incidents(logs, "healthcheck-failed", subjects=by_server, repeats=True):
        spells = tuple(spell for spell in trouble.spells if not any(word in _reason(spell) for word in _ASKED))
        if not spells:
            continue
        quiet = False
        lasting = tuple(spell for spell in trouble.unresolved if spell in spells)
        yield _finding(replace(trouble, spells=spells, unresolved=lasting))
    if quiet:
        yield passed(CLUSTER)


def _reason(spell: Spell) -> str:
    return dict(spell.fields).get("reason", "")


def _plain(reason: str) -> str:
    return "several errors at once" if reason == "N errors" else reason.strip('"')


def _finding(trouble: LogIncident) -> Finding:
    reasons = [_reason(spell) for spell in trouble.unresolved or trouble.spells]
    behind = all(any(word in reason for word in _CATCHING_UP) for reason in reasons)
    causes = "; ".join(list(dict.fromkeys(map(_plain, reasons)))[:3])
    return finding_of(
        trouble,
        f"its health check failed, {causes}: {trouble.story}. One line is one probe that asked",
        trouble.severity(Severity.WARNING if behind else None),
    )
