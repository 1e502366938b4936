"""JSD816: a file store limit that its server's disk does not bear out."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.server import UNLIMITED, JetStreamStats, Server, Servers

_UNITS = (1_000_000, 1 << 20)
"""People write limits in megabytes or more; three quarters of what is free on a disk is no whole number of those."""


@check("server_health.file_store_limit")
def file_store_limit(servers: Servers) -> Iterator[Finding]:
    """Without max_file_store the limit is 75 % of the space that is free at the start (server: jetstream.go).

    A server does not say whether its limit was configured, nor how large its disk is. What can be seen is a limit
    below what is stored already: up to 2.12 a restart does that when there is no max_file_store.
    """
    for server in servers.servers:
        stats = server.jetstream
        if stats is None or stats.disabled or stats.config is None or not 0 < stats.config.max_storage < UNLIMITED:
            continue
        limit = stats.config.max_storage
        if stats.storage > limit:
            yield _below_usage(server, stats, limit)
        elif _looks_derived(limit):
            yield unknown(
                server.subject,
                f"its limit of {limit:,} bytes may be three quarters of what was free on the disk when it started: a"
                " server does not say whether max_file_store is set, nor how large its disk is",
                "look for max_file_store in its configuration and set it below the size of the disk",
            )
        else:
            yield passed(server.subject)


def _looks_derived(limit: int) -> bool:
    return all(limit % unit for unit in _UNITS)


def _below_usage(server: Server, stats: JetStreamStats, limit: int) -> Finding:
    return Finding(
        subject=server.subject,
        message=f"it stores {stats.storage:,} bytes and its limit is {limit:,}: publishes are refused (error 10023)."
        " Either max_file_store was lowered, or it is not set and this start found less free space",
        measured=stats.storage,
        threshold=limit,
        unit="bytes",
        evidence=(
            server.observed("storage", stats.storage),
            server.observed("config.max_storage", limit),
            server.observed("version", server.version),
        ),
    )
