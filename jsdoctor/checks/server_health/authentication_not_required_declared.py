"""JSD810, from manifests: servers that will let everybody in, passwords in manifests and on the wire."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, unclear
from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.authentication_not_required import is_local
from jsdoctor.model.finding import Finding, Observation, Severity, passed
from jsdoctor.model.manifest import DeclaredLogin, DeclaredServers, Manifests


@check("server_health.authentication_not_required_declared")
def authentication_not_required_declared(manifests: Manifests) -> Iterator[Finding]:
    """No secret is quoted: the evidence is where it stands."""
    for servers in manifests.servers:
        yield _of_servers(servers)
    for login in manifests.logins:
        yield _of_login(login)


def _of_servers(servers: DeclaredServers) -> Finding:
    local = is_local(str(servers.get("host", "")))
    if servers.get("auth") is not True:
        if servers.get("auth") is None and (unsure := unclear(servers, "auth")):
            return unsure
        reach = "every process of its machine" if local else "everybody who reaches its port"
        says = f"it will ask nobody who they are: {reach} may read, publish and delete every stream of that account"
        if not servers.is_chart:
            return _found(servers, says, Severity.INFO if local else None, servers.shows("auth", "no login is set up"))
        more = "; the chart sets up no logins: put authorization or accounts into config.merge"
        return _found(servers, says + more, None, servers.shows("auth", "no login is set up"))
    if servers.get("tls") is not True and not local:
        if unsure := unclear(servers, "tls"):
            return unsure
        says = "it has no TLS: passwords and messages cross the network in clear text"
        return _found(servers, says, Severity.INFO, servers.shows("tls", "no tls is set up"))
    if unlimited := servers.get("unlimited_accounts") if servers.get("accounts", 0) > 1 else None:
        says = f"{', '.join(unlimited)} shares the servers with other accounts and has no JetStream limits"
        shown = servers.shows("unlimited_accounts", "jetstream without limits")
        return _found(servers, f"{says}: it can use up their storage", Severity.INFO, shown)
    return passed(servers.subject)


def _of_login(login: DeclaredLogin) -> Finding:
    if login.inline:
        keys = ", ".join(dict.fromkeys(key for key, _ in login.inline))
        says = f"a secret stands in the manifest itself ({keys}): put it into a Secret and name that"
        shown = tuple(place.shows(f"{key}: (not shown)") for key, place in login.inline)
        return Finding(subject=login.subject, message=says, evidence=shown, remedy=BY_HAND)
    if login.clear_text:
        servers = ", ".join(dict.fromkeys(server for server, _ in login.clear_text))
        return Finding(
            subject=login.subject,
            severity=Severity.INFO,
            message=f"the login is sent to {servers} without TLS, unless the server asks for it",
            evidence=tuple(place.shows("no TLS") for _, place in login.clear_text),
            remedy=BY_HAND,
        )
    return passed(login.subject)


def _found(servers: DeclaredServers, says: str, severity: Severity | None, shown: Observation) -> Finding:
    return Finding(subject=servers.subject, severity=severity, message=says, evidence=(shown,), remedy=BY_HAND)
