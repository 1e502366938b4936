"""Streams that exceed the limits of an account or server, and how many servers there will be for replicas.

(Server: jetstream.go checkLimits, stream.go checkStreamCfg.)

`max_bytes` is reserved when a stream is created. What is counted here is never more than what servers count, so that a
stream that they take is not refused here: streams that the same manifests delete or shrink count as deleted or shrunk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from jsdoctor.checks.declared.refusal import ServerRefusal
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import DeclaredServers, DeclaredStream, Manifests, PlannedAction
from jsdoctor.model.server import UNLIMITED, Account, Accounts, ConnectedServer, Server, Servers, Tier
from jsdoctor.model.snapshot import SnapshotSeries, Stream


class ServerCount(NamedTuple):
    """The exact number of servers, their least number (None: not known), and the source of these numbers in words.

    Words without numbers: it is not known whether the streams are for the declared server.
    """

    exact: int | None
    least: int | None
    words: str


def servers_for(
    manifests: Manifests, snapshots: SnapshotSeries | None, servers: Servers | None, connected: ConnectedServer | None
) -> ServerCount:
    """Prefer what the deployment reports to what the manifests declare; without either nothing is known."""
    live = _deployed_servers(snapshots, servers, connected)
    if live.least is not None:
        return live
    known = [(declared, size) for declared in manifests.servers if (size := declared_size(declared)) is not None]
    sizes = {size for declared, size in known if not _is_unused_file(declared)}
    if len(sizes) != 1:
        return ServerCount(None, None, "" if sizes or not known else f"{known[0][0].place.file} makes one server")
    size = sizes.pop()
    return ServerCount(size, size, f"the manifests make {_servers(size)}")


def _is_unused_file(servers: DeclaredServers) -> bool:
    """Whether this is a file that no workload runs with: it may be a developer's, and the stream another server's."""
    return servers.what == "server configuration" and not servers.get("started")


def declared_size(servers: DeclaredServers) -> int | None:
    """Servers of the cluster that it will be part of; None when the file does not tell."""
    if servers.get("jetstream") is not True:
        return None
    size = servers.get("servers")
    if servers.is_chart or (servers.get("clustered") and size):
        return size if isinstance(size, int) else None
    return None if servers.get("clustered") or "clustered" in servers.unclear else 1


def _deployed_servers(
    snapshots: SnapshotSeries | None, servers: Servers | None, connected: ConnectedServer | None
) -> ServerCount:
    with_meta = [server for server in servers.servers if server.meta] if servers else []
    clusters = {server.cluster for server in with_meta}
    if len(clusters) == 1:
        size = max(server.meta.cluster_size for server in with_meta if server.meta)
        return ServerCount(size, size, f"there are {_servers(size)}")
    if servers and servers.complete and not with_meta and len(servers.servers) == 1:
        return ServerCount(1, 1, "there is one server, which is no cluster")
    if connected and not connected.cluster and connected.jetstream:
        return ServerCount(1, 1, "there is one server, which is no cluster")
    held = [1 + len(s.cluster.replicas) for s in (snapshots.last.streams if snapshots else ()) if s.cluster]
    least = max(*held, 0, connected.servers_at_least if connected else 0)
    return (
        ServerCount(None, least, f"there are at least {_servers(least)}") if least > 1 else ServerCount(None, None, "")
    )


def _servers(count: int) -> str:
    return f"{count} server{'' if count == 1 else 's'}"


class ResourceLimits:
    """The limits of one account, and of the server where there is only one, with what is taken of them.

    `account` is None where it is not known which one the manifests are for: then no limit is known, either.
    """

    def __init__(
        self,
        account: str | None,
        manifests: Manifests,
        snapshots: SnapshotSeries | None,
        accounts: Accounts | None,
        servers: Servers | None,
    ) -> None:
        streams = snapshots.last.streams if snapshots and account is not None else ()
        stored = {(stream.name, stream.config.storage) for stream in streams}
        wanted = {
            stream.name: max(stream.config.max_bytes, 0) if _keeps_reservation(stream, stored) else 0
            for stream in manifests.streams
        }
        gone = {stream.name for stream in manifests.streams if stream.planned_action is not PlannedAction.KEPT}
        self._account = account_row(account, accounts) if snapshots else None
        self._server = _single_server(servers) if snapshots else None
        self._reserves = account is not None
        self._held = {s.name: s.config for s in streams if s.account == account and s.name not in gone}
        self._reserved = {name: _smaller(config.max_bytes, wanted.get(name)) for name, config in self._held.items()}
        self._freed = {storage: sum(_freed(s, storage, wanted) for s in streams) for storage in ("file", "memory")}

    def refusals(
        self, config: StreamConfig, current: StreamConfig | None, replaced: StreamConfig | None = None
    ) -> Iterator[ServerRefusal]:
        """Why there is no room for a stream; `current` is how it is now, `replaced` how it is until it is deleted.

        A stream that is replaced is created: what it has reserved is free by then.
        """
        if tier := _tier(config, self._account):
            yield from self._tier_refusals(config, current, tier)
        if self._server and self._server.jetstream and (own := self._server.jetstream.config):
            stats, memory = self._server.jetstream, config.storage == "memory"
            limit = own.max_memory if memory else own.max_storage
            reserved = stats.reserved_memory if memory else stats.reserved_storage
            if reserved < UNLIMITED:
                left = reserved - self._freed["memory" if memory else "file"] if self._reserves else 0
                if replaced and replaced.storage == config.storage:
                    left -= _smaller(replaced.max_bytes, max(config.max_bytes, 0))
                yield from _storage_refusal(config, current, limit, left, f"the limit of server {self._server.name}")

    def _tier_refusals(self, config: StreamConfig, current: StreamConfig | None, tier: Tier) -> Iterator[ServerRefusal]:
        limits = tier.limits
        if limits.max_bytes_required and config.max_bytes <= 0:
            yield ServerRefusal("max_bytes", "its account wants max_bytes of every stream", 10113)
        largest = limits.memory_max_stream_bytes if config.storage == "memory" else limits.storage_max_stream_bytes
        if 0 < largest < config.max_bytes:
            text = f"max_bytes {config.max_bytes:,} is above {largest:,}, the account's limit for one stream"
            yield ServerRefusal("max_bytes", text, 10122)
        if 0 < limits.max_consumers < config.max_consumers:
            text = f"max_consumers {config.max_consumers:,} is above {limits.max_consumers:,}, the account's limit"
            yield ServerRefusal("max_consumers", text, 10026)
        counted = [n for n, c in self._held.items() if not tier.name or c.num_replicas == config.num_replicas]
        if current is None and 0 < limits.max_streams <= len(counted):
            text = f"its account has {len(counted):,} streams, and may have {limits.max_streams:,}"
            yield ServerRefusal("name", text, 10027)
        limit = limits.max_memory if config.storage == "memory" else limits.max_storage
        others = [n for n in counted if n != config.name and self._held[n].storage == config.storage]
        reserved = sum(self._reserved[name] for name in others) + (max(current.max_bytes, 0) if current else 0)
        of_tier = f" for {tier.name}" if tier.name else ""
        yield from _storage_refusal(config, current, limit, reserved, f"the account's limit{of_tier}")


def _keeps_reservation(stream: DeclaredStream, stored: Collection[tuple[str, str]]) -> bool:
    """Whether it keeps a reservation: a replaced stream does only if it is created again with the same storage."""
    if stream.planned_action is PlannedAction.REPLACED:
        return (stream.name, stream.config.storage) in stored
    return stream.planned_action is PlannedAction.KEPT


def account_row(account: str | None, accounts: Accounts | None) -> Account | None:
    """The account's limits. An account without streams is known only where no other one was looked at."""
    rows = accounts.accounts if accounts and account is not None else ()
    named = [row for row in rows if row.name == account or (not account and len(rows) == 1)]
    return named[0] if len(named) == 1 else None


def most_consumers(config: StreamConfig, account: Account | None) -> int:
    """How many consumers the account allows each of its streams; 0: any number, or not known."""
    tier = _tier(config, account)
    return tier.limits.max_consumers if tier else 0


def _tier(config: StreamConfig, account: Account | None) -> Tier | None:
    tiers = {tier.name: tier for tier in account.tiers} if account else {}
    return tiers.get("") or tiers.get(f"R{max(config.num_replicas, 1)}")


def _single_server(servers: Servers | None) -> Server | None:
    """The only server of the deployment; None for a cluster, where the meta leader chooses servers with room."""
    known = servers.servers if servers and servers.complete else ()
    return known[0] if len(known) == 1 and known[0].meta is None else None


def _smaller(held: int, wanted: int | None) -> int:
    return max(held, 0) if wanted is None else min(max(held, 0), wanted)


def _freed(stream: Stream, storage: str, wanted: dict[str, int]) -> int:
    """Bytes that the manifests give back of what this stream has reserved."""
    config = stream.config
    if config.storage != storage or stream.name not in wanted:
        return 0
    return max(config.max_bytes, 0) - _smaller(config.max_bytes, wanted[stream.name])


def _storage_refusal(
    config: StreamConfig, current: StreamConfig | None, limit: int, reserved: int, whose: str
) -> Iterator[ServerRefusal]:
    """A refusal if max_bytes does not fit. `reserved` includes what the stream has reserved; a new one needs a byte."""
    if not 0 < limit < UNLIMITED:
        return
    what, code = ("memory", 10028) if config.storage == "memory" else ("file storage", 10047)
    more = max(config.max_bytes - max(current.max_bytes, 0), 0) if current else max(config.max_bytes, 1)
    if reserved + more > limit:
        text = f"max_bytes {config.max_bytes:,}" if config.max_bytes > 0 else "a stream without max_bytes"
        why = f"{text} does not fit: {reserved:,} bytes of {limit:,} of {what} are reserved ({whose})"
        yield ServerRefusal("max_bytes", why, code)
