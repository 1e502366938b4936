"""JSD823: servers without any means of monitoring."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.manifest import DeclaredServers, Manifests


@check("server_health.unmonitored_declared", also_mounted=True)
def unmonitored_declared(manifests: Manifests) -> Iterator[Finding]:
    """Judge monitoring ports. The chart sets 8222, which serves JSON, and leaves the exporter for Prometheus off."""
    for servers in manifests.servers:
        if servers.get("monitoring") is not True:
            unsure = None if "monitoring" in servers.settings else unclear(servers, "monitoring")
            yield unsure or _finding(servers, "monitoring", _OFF, None)
        elif servers.get("exporter") is False:
            yield _finding(servers, "exporter", _NO_EXPORTER, Severity.INFO)
        else:
            yield unclear(servers, "exporter") or passed(servers.subject)


_OFF = (
    "it will have no monitoring port: lag, storage and health can be seen with a login of the system account only; set"
    " http_port (config.monitor.enabled in the chart)"
)
_NO_EXPORTER = (
    "promExporter is off: port 8222 speaks JSON, which Prometheus does not read, so no alert on lag or storage can"
    " fire; if nothing else exports the figures, set promExporter.enabled and its podMonitor.enabled"
)


def _finding(servers: DeclaredServers, setting: str, text: str, severity: Severity | None) -> Finding:
    shown = servers.shows(setting, f"{setting}: off")
    return failed(servers.subject, text, shown, severity=severity)
