"""Versions of servers as numbers, and which of them a server has: what helps on one is in vain on another."""

from __future__ import annotations

from functools import lru_cache

from jsdoctor.model.server import ConnectedServer, Servers


@lru_cache
def release(version: str) -> tuple[int, ...]:
    """`2.12.8-RC.1` as (2, 12, 8); () for what is no version."""
    parts = version.partition("-")[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def version_at(name: str, servers: Servers | None, connected: ConnectedServer | None) -> str:
    """The version of the server of that name; of a plain login that of the server we are on. Empty: not known."""
    reported = next((server.version for server in (servers.servers if servers else ()) if server.name == name), "")
    return reported or (connected.version if connected else "")
