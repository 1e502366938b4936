"""JSD711, from manifests: names with white space in the configuration of servers."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import Manifests

_NAMES = {
    "server_name": "the server's name",
    "cluster_name": "the cluster's name",
    "gateway_name": "the gateway's name",
    "domain": "the JetStream domain",
}


@check("cluster_health.name_has_whitespace_declared")
def name_has_whitespace_declared(manifests: Manifests) -> Iterator[Finding]:
    """From 2.11 on a server with a space in its names does not start; tabs pass all versions (server: opts.go)."""
    for servers in manifests.servers:
        names = {setting: str(servers.get(setting)) for setting in _NAMES if servers.get(setting)}
        bad = [setting for setting, name in names.items() if any(letter.isspace() for letter in name)]
        if bad:
            words = " and ".join(f"{_NAMES[setting]} {names[setting]!r}" for setting in bad)
            yield Finding(
                subject=servers.subject,
                severity=Severity.ERROR if "cluster_name" in bad or "gateway_name" in bad else None,
                message=f"white space in {words}: from 2.11 on a server with a space in its names does not start",
                evidence=tuple(servers.shows(setting, f"{setting}: {names[setting]}") for setting in bad),
                remedy=BY_HAND,
            )
        else:
            yield unclear(servers, "cluster_name", "domain") or passed(servers.subject)
