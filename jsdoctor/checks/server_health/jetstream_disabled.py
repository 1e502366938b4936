"""JSD803: JetStream is configured on a server and off, or runs there outside the cluster's meta group."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.meta_group import leader_of, meta_groups
from jsdoctor.checks.cluster_health.raft import UNKNOWN_NAME
from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.health import is_jetstream_off, uptime_ns
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers


@check("server_health.jetstream_disabled")
def jetstream_disabled(servers: Servers, params: Params) -> Iterator[Finding]:
    """A server switches JetStream off when it cannot write or was removed (server: jetstream.go DisableJetStream).

    Servers without JetStream in a JetStream cluster are legal and look the same in jsz. Their health check passes.
    """
    peers = {peer.name for server in servers.servers if server.meta for peer in server.meta.replicas}
    outside = _outside(servers)
    for server in servers.servers:
        if is_jetstream_off(server):
            yield _off(server, still_member=server.name in peers)
        elif server.jetstream is None:
            yield unknown(server.subject, "its JetStream figures were not read", "see the gaps of this run")
        elif not server.jetstream.disabled:
            yield _running(server, server.name in outside, params.integer("start_up"))
        elif server.name in peers:
            yield _off(server, still_member=True)
        elif server.health is None:
            yield unknown(server.subject, "no JetStream, and its health was not read", "see the gaps of this run")


def _running(server: Server, is_outside: bool, start_up_ns: int) -> Finding:
    if not is_outside:
        return passed(server.subject)
    if (uptime_ns(server) or 0) >= start_up_ns:
        return _stranger(server)
    return unknown(
        server.subject, "it started a moment ago and is no member of the meta group yet", "run again in a minute"
    )


def _outside(servers: Servers) -> set[str]:
    """Servers that follow a meta leader which does not know them, in every sample."""
    found: set[str] = set()
    for group in meta_groups(servers):
        for number, look in enumerate(group.looks):
            leader = leader_of(look)
            known = leader.meta.replicas if leader and leader.meta else ()
            if not leader or any(peer.name.startswith(UNKNOWN_NAME) for peer in known):
                return set()
            strangers = (
                {server.name for server in look if not server.shares_its_name}
                - {leader.name}
                - {peer.name for peer in known}
            )
            found = strangers if number == 0 else found & strangers
    return found


def _stranger(server: Server) -> Finding:
    return Finding(
        subject=server.subject,
        severity=Severity.WARNING,
        message="it runs JetStream and is no member of the meta group: no stream or consumer is placed on it. Newer"
        " versions take a server that was removed back some minutes after it was started again",
        evidence=(server.observed("meta_cluster.leader", server.meta.leader if server.meta else None),),
    )


def _off(server: Server, *, still_member: bool) -> Finding:
    why = (
        "it is still a member of the meta group, so it was switched off by a write error or a full disk"
        if still_member
        else "it switched it off itself (full disk, write error) or was removed from the cluster while it ran"
    )
    return Finding(
        subject=server.subject,
        message=f"JetStream is configured on this server and off: {why}; it stays off until the server is restarted",
        evidence=(
            server.observed("jsz.disabled", bool(server.jetstream and server.jetstream.disabled)),
            server.observed("healthz.status", server.health.status if server.health else None),
        ),
    )
