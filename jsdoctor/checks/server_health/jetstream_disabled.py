"""JSD803: JetStream is configured on a server and off."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.health import is_jetstream_off
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.server import Server, Servers


@check("server_health.jetstream_disabled")
def jetstream_disabled(servers: Servers) -> Iterator[Finding]:
    """A server switches JetStream off when it cannot write or was removed (server: jetstream.go DisableJetStream).

    Servers without JetStream in a JetStream cluster are legal and look the same in jsz. Their health check passes.
    """
    peers = {peer.name for server in servers.servers if server.meta is not None for peer in server.meta.replicas}
    for server in servers.servers:
        if is_jetstream_off(server):
            yield _finding(server, still_member=server.name in peers)
        elif server.jetstream is None:
            yield unknown(server.subject, "its JetStream figures were not read", "see the gaps of this run")
        elif not server.jetstream.disabled:
            yield passed(server.subject)
        elif server.name in peers:
            yield _finding(server, still_member=True)
        elif server.health is None:
            yield unknown(
                server.subject, "it has no JetStream, and its health was not read", "see the gaps of this run"
            )


def _finding(server: Server, *, still_member: bool) -> Finding:
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
