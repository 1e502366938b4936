"""JSD801: a server whose own health check fails."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.health import (
    lasting_reasons,
    only_lagging_assets,
    reasons,
    settled_reasons,
    summary,
    uptime_ns,
)
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span


@check("server_health.server_unhealthy")
def server_unhealthy(servers: Servers, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """The health check is local: it tells of this server and of its own replicas (server: monitor.go healthz)."""
    for server in servers.servers:
        if server.health is None:
            yield unknown(server.subject, "its health was not read", "see the gaps of this run")
            continue
        if server.health.status == "ok":
            yield passed(server.subject)
            continue
        errors = settled_reasons(lasting_reasons(server, servers.earlier), snapshots)
        uptime = uptime_ns(server)
        if not errors and reasons(server):
            yield unknown(
                server.subject,
                f"its health check fails for streams or consumers that have just changed: {summary(reasons(server))}",
                "run again in ten seconds",
            )
            continue
        young = uptime is not None and uptime < params.integer("start_up")
        started = f" (it started {span(uptime or 0)} ago and may be still recovering)" if young else ""
        yield Finding(
            subject=server.subject,
            severity=Severity.WARNING if young or (errors and only_lagging_assets(errors)) else None,
            message=f"its health check says {server.health.status or server.health.status_code}{started}: "
            + (summary(errors) if errors else "without a reason"),
            measured=len(errors),
            threshold=0,
            unit="count",
            evidence=(
                server.observed("healthz.status", server.health.status),
                *(server.observed(f"healthz.errors.{error.type or 'error'}", error.error) for error in errors[:3]),
            ),
        )
