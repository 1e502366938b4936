"""JSD810: a server that accepts every client, or sends passwords in clear text, or an account without limits.

From manifests: servers that will accept every client, passwords in manifests and on the wire.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address

from jsdoctor.checks.declared.doubts import unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.manifest import DeclaredLogin, DeclaredServers, Manifests
from jsdoctor.model.server import Account, Accounts, ConnectedServer, Server, Servers, Varz
from jsdoctor.model.wording import counted


@check("server_health.authentication_not_required")
def authentication_not_required(
    servers: Servers | None, connected: ConnectedServer | None, accounts: Accounts | None
) -> Iterator[Finding]:
    """One finding at most for each server: open, else reachable from other hosts without TLS."""
    known = {server.name: server for server in (servers.servers if servers else ())}
    for server in known.values():
        if server.varz:
            own = connected if connected and connected.server_name == server.name else None
            yield _server_finding(server, server.varz, own)
        else:
            yield unknown(server.subject, "its variables were not read", "see the gaps of this run")
    if connected and connected.server_name not in known:
        yield _judged(
            Subject(kind="server", name=connected.server_name),
            connected.host,
            connected.auth_required,
            connected.tls_required or connected.tls_available,
            Observation("INFO", "auth_required", connected.auth_required),
        )
    yield from _unlimited(accounts.accounts if accounts else ())


def _server_finding(server: Server, varz: Varz, connected: ConnectedServer | None) -> Finding:
    """Judge one server, by INFO where that is known: with `no_auth_user` only INFO shows that no login is needed."""
    tls = varz.tls_required or varz.tls_cert_not_after is not None
    if connected:
        auth, tls = connected.auth_required, tls or connected.tls_available
    else:
        auth = varz.auth_required
    return _judged(server.subject, varz.host, auth, tls, server.observed("auth_required", auth))


def _judged(subject: Subject, host: str, auth: bool, tls: bool, seen: Observation) -> Finding:
    local = is_local(host)
    evidence = (seen, Observation(seen.source, "host", host, seen.at))
    if not auth:
        reach = "every process of this machine" if local else "every client that reaches its port"
        text = f"it requires no login: {reach} may read, publish and delete every stream of that account"
        return failed(subject, text, *evidence, severity=Severity.INFO if local else None)
    if not tls and not local:
        text = "it has no TLS: passwords and messages cross the network in clear text"
        return failed(subject, text, *evidence, severity=Severity.INFO)
    return passed(subject)


def is_local(host: str) -> bool:
    """Whether only processes of the same machine reach it."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return host == "localhost"


def _unlimited(accounts: tuple[Account, ...]) -> Iterator[Finding]:
    """Judge the limits of accounts that share servers: one without limits can use up the storage of the others."""
    users = [a for a in accounts if a.tiers and any(tier.streams or tier.storage or tier.memory for tier in a.tiers)]
    in_domain = Counter(account.domain for account in users)
    for account in (user for user in users if in_domain[user.domain] > 1):
        if any(tier.limits.max_storage > 0 or tier.limits.max_memory > 0 for tier in account.tiers):
            yield passed(account.subject)
            continue
        yield failed(
            account.subject,
            f"it has no JetStream limits and shares its servers with"
            f" {counted(in_domain[account.domain] - 1, 'other account')}:"
            " it can use up their storage",
            Observation(account.source, "limits.max_storage", -1, account.at),
            severity=Severity.INFO,
        )


@check("server_health.authentication_not_required_declared", also_mounted=True)
def authentication_not_required_declared(manifests: Manifests) -> Iterator[Finding]:
    """Judge declared servers and logins. The evidence is the place of a secret, not the secret."""
    for servers in manifests.servers:
        yield _declared_servers_finding(servers)
    for login in manifests.logins:
        yield _declared_login_finding(login)


def _declared_servers_finding(servers: DeclaredServers) -> Finding:
    local = is_local(str(servers.get("host")))
    if servers.get("auth") is not True:
        if servers.get("auth") is None and (unsure := unclear(servers, "auth")):
            return unsure
        reach = "every process of its machine" if local else "every client that reaches its port"
        text = f"it will require no login: {reach} may read, publish and delete every stream of that account"
        if not servers.is_chart:
            return failed(
                servers.subject,
                text,
                servers.shows("auth", "no login is set up"),
                severity=Severity.INFO if local else None,
            )
        more = "; the chart sets up no logins: put authorization or accounts into config.merge"
        return failed(servers.subject, text + more, servers.shows("auth", "no login is set up"), severity=None)
    if servers.get("tls") is not True and not local:
        if unsure := unclear(servers, "tls"):
            return unsure
        text = "it has no TLS: passwords and messages cross the network in clear text"
        return failed(servers.subject, text, servers.shows("tls", "no tls is set up"), severity=Severity.INFO)
    if unlimited := servers.get("unlimited_accounts") if servers.get("accounts", 0) > 1 else None:
        text = f"{', '.join(unlimited)} shares the servers with other accounts and has no JetStream limits"
        shown = servers.shows("unlimited_accounts", "jetstream without limits")
        return failed(servers.subject, f"{text}: it can use up their storage", shown, severity=Severity.INFO)
    return ("accounts" not in servers.settings and unclear(servers, "accounts")) or passed(servers.subject)


def _declared_login_finding(login: DeclaredLogin) -> Finding:
    if login.inline:
        keys = ", ".join(dict.fromkeys(key for key, _ in login.inline))
        text = f"a secret stands in the manifest itself ({keys}): put it into a Secret and name that"
        shown = tuple(place.shows(f"{key}: (not shown)") for key, place in login.inline)
        return failed(login.subject, text, *shown)
    if login.clear_text:
        servers = ", ".join(dict.fromkeys(server for server, _ in login.clear_text))
        return failed(
            login.subject,
            f"the login is sent to {servers} without TLS, unless the server requests it",
            *(place.shows("no TLS") for _, place in login.clear_text),
            severity=Severity.INFO,
        )
    return passed(login.subject)
