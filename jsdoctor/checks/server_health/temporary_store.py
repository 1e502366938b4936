"""JSD818: a store directory that does not outlive the host or the container, by the server's configuration."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.temporary import is_in_memory, is_temporary, is_the_fallback
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.server import Servers


@check("server_health.temporary_store")
def temporary_store(servers: Servers) -> Iterator[Finding]:
    """Without `store_dir` a server takes the system's directory for temporary files (jetstream.go EnableJetStream)."""
    for server in servers.servers:
        jetstream = server.jetstream
        if jetstream is None or jetstream.disabled or not jetstream.config:
            continue
        path = jetstream.config.store_dir
        if not (is_temporary(path) or is_in_memory(path)):
            yield passed(server.subject)
            continue
        chosen = not (is_the_fallback(path) or is_in_memory(path))
        yield Finding(
            subject=server.subject,
            severity=Severity.INFO if chosen else None,
            message=f"its streams are stored in {path}, "
            + ("which is in memory" if is_in_memory(path) else "a directory for temporary files")
            + ("" if chosen or is_in_memory(path) else ", because no store_dir is set")
            + ": they are gone after the next restart of the host or container",
            measured=path,
            evidence=(server.observed("config.store_dir", path),),
        )
