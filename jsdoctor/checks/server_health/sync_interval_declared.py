"""JSD813, from manifests: files that will be flushed more seldom than by default."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("server_health.sync_interval_declared")
def sync_interval_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """A publish is acknowledged when its file is written, which is flushed later (server: filestore.go syncBlocks)."""
    longest = params.integer("warn_interval")
    for servers in manifests.servers:
        if servers.get("jetstream") is not True:
            continue
        interval = servers.get("sync_interval", 0)
        if unsure := unclear(servers, "sync_interval"):
            yield unsure
        elif servers.get("sync_always") or interval <= longest:
            yield passed(servers.subject)
        else:
            number = servers.get("sync_interval_in_seconds")
            unquoted = f"; written without quotes it is a number of seconds, {number:,}" if number else ""
            yield Finding(
                subject=servers.subject,
                severity=Severity.WARNING if unquoted else Severity.INFO,
                message=f"files will be flushed every {span(interval)} (sync_interval), later than the server's default"
                f" of {span(longest)}: a power cut can take back the acknowledged messages of that time{unquoted}",
                measured=interval,
                threshold=longest,
                unit="duration",
                evidence=(servers.shows("sync_interval", f"sync_interval: {span(interval)}"),),
                remedy=BY_HAND,
            )
