"""JSD801: a server whose own health check fails.

From logs: health checks that failed, by the lines that the server writes for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.health import (
    is_permanent,
    lasting_reasons,
    only_lagging_assets,
    reasons,
    settled_reasons,
    summary,
    uptime_ns,
)
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, suspected, unknown
from jsdoctor.model.log import LogEvidence, OutageInterval
from jsdoctor.model.params import Params
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import HealthError, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span


@check("server_health.server_unhealthy")
def server_unhealthy(
    servers: Servers, snapshots: SnapshotSeries | None, groups: RaftGroups | None, params: Params
) -> Iterator[Finding]:
    """Judge the health checks, each of which covers one server and its own replicas (server: monitor.go healthz)."""
    for server in servers.servers:
        if server.health is None:
            yield unknown(server.subject, "its health was not read", "see the gaps of this run")
            continue
        if server.health.status == "ok":
            yield passed(server.subject)
            continue
        lasting = lasting_reasons(server, servers.earlier)
        errors = settled_reasons(server, lasting, snapshots, groups, params.integer("settle"))
        if not errors and reasons(server):
            yield suspected(
                server.subject,
                "its health check fails for streams or consumers that have just changed or are gone: "
                + summary(reasons(server)),
                f"run again in {span(params.integer('settle'))}",
            )
            continue
        yield _unhealthy(server, errors, params.integer("start_up"))


def _unhealthy(server: Server, errors: tuple[HealthError, ...], start_up: int) -> Finding:
    uptime, status = uptime_ns(server), (server.health.status or server.health.status_code) if server.health else ""
    starting = uptime is not None and uptime < start_up
    recovering = starting and not any(is_permanent(error) for error in errors)
    # It has no contact with a meta leader while it starts, and replays its streams: that is no fault yet.
    is_warning = starting or (errors and only_lagging_assets(errors))
    since = f" {span(uptime)} after its start" if uptime is not None and starting else ""
    still = f"; it may be still recovering, which is a fault from {span(start_up)} after its start on"
    return failed(
        server.subject,
        f"its health check says {status}{since}: "
        + (summary(errors) if errors else "without a reason")
        + (still if recovering else ""),
        server.observed("healthz.status", server.health.status if server.health else ""),
        *(server.observed(f"healthz.errors.{error.type or 'error'}", error.error) for error in errors[:_SHOWN]),
        severity=Severity.INFO if recovering else Severity.WARNING if is_warning else None,
        confidence=Confidence.LOW if recovering else Confidence.HIGH,
        measured=(len(errors), 0, "count"),
        how_to_get=f"run again {span(start_up)} after its start" if recovering else "",
    )


_WRONG_REQUEST = ("must not be empty", "not found on account")
"""Errors of a health probe that names a wrong stream: they are no fault of the server."""
_SHOWN = 3

_CATCHING_UP = ("not current", "still recovering", "group node unhealthy")


@check("server_health.unhealthy_logged", lines_of="servers")
def unhealthy_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report failed health checks: each logs a line, healthy ones log none, so intervals end without lines."""
    for incident in log_incidents(logs, "healthcheck-failed", repeats=True):
        intervals = tuple(
            interval for interval in incident.intervals if not any(word in _reason(interval) for word in _WRONG_REQUEST)
        )
        if not intervals:
            continue
        lasting = tuple(interval for interval in incident.unresolved if interval in intervals)
        yield _finding(replace(incident, intervals=intervals, unresolved=lasting))


def _reason(interval: OutageInterval) -> str:
    return dict(interval.fields).get("reason", "")


def _plain(reason: str) -> str:
    return "several errors at once" if reason == "N errors" else reason.removeprefix('"').removesuffix('"')


def _finding(incident: LogIncident) -> Finding:
    reasons = [_reason(interval) for interval in incident.unresolved or incident.intervals]
    behind = all(any(word in reason for word in _CATCHING_UP) for reason in reasons)
    causes = "; ".join(list(dict.fromkeys(map(_plain, reasons)))[:_SHOWN])
    return finding_of(
        incident,
        f"its health check failed, {causes}: {incident.story}. One line is one probe that asked",
        incident.severity(Severity.WARNING if behind else None),
    )
