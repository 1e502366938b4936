"""Whether further streams find room: on servers as the meta leader looks for it, and within the limits of accounts.

In a cluster a server has room by what is left of its limit beside the larger of reservations and use; a single server
counts reservations alone (server: jetstream_cluster.go selectPeerGroup, jetstream.go checkBytesLimits).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from jsdoctor.checks.cluster_health.links import clusters
from jsdoctor.checks.cluster_health.placement import bytes_left, refusal, unique_tag
from jsdoctor.checks.declared.stream_resources import ResourceLimits
from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.model.capacity import Fit, StreamRoom
from jsdoctor.model.jetstream import StreamState
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.release import release
from jsdoctor.model.server import Account, Accounts, Server
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted

_COUNTS_EACH_REPLICA = (2, 14, 1)
"""From this release on each replica of a new stream counts against the limit of an account without tiers."""


def rooms(wanted: StreamRoom, land: Landscape, accounts: Accounts | None) -> Iterator[StreamRoom]:
    """A row for each cluster and single server, then one for each account whose limits refuse some of them."""
    servers = land.servers.servers if land.servers else ()
    if not servers:
        yield replace(
            wanted, fit=None, why="no server reported what it has reserved: use a login of the system account"
        )
    for group in clusters(land.servers) if land.servers else ():
        if len(group.servers) > 1 or group.servers[0].meta is not None:
            yield _in_cluster(wanted, group.name, group.servers, land)
    for server in servers:
        if server.meta is None and server.jetstream is not None and not server.jetstream.disabled:
            yield _on_single_server(wanted, server)
    if accounts:
        for account in accounts.accounts:
            yield from _in_account(wanted, account, land, accounts)


def has_room(found: Sequence[StreamRoom], accounts: Accounts | None) -> bool | None:
    """Whether one place and one account take all streams; None if unknown. An account without a row refuses none."""
    places = [room.has_all for room in found if not room.is_account]
    refusing = [room.has_all for room in found if room.is_account]
    in_account = True if accounts is None or len(refusing) < len(accounts.accounts) else _any_known(refusing)
    both = (_any_known(places), in_account)
    return False if False in both else None if None in both else True


def _any_known(values: Sequence[bool | None]) -> bool | None:
    """Whether any value is true; None where none is and some is unknown, or where there are no values."""
    return True if True in values else None if None in values or not values else False


def _server_fits(wanted: StreamRoom, servers: Sequence[Server]) -> Iterator[Fit]:
    smallest = replace(wanted.config, max_bytes=0)
    for server in servers:
        left = bytes_left(server, wanted.storage)
        why = refusal(server, smallest, "", ())  # what keeps all of them out, however small they are
        yield Fit(server.name, 0 if why else min(left // wanted.size, wanted.streams), left, why)


def _on_single_server(wanted: StreamRoom, server: Server) -> StreamRoom:
    (fit,) = _server_fits(wanted, (server,))
    one = replace(wanted, fit=fit.streams, place=server.name, servers=(fit,))
    if wanted.replicas > 1:
        return replace(one, fit=0, why="a single server takes no replicas (10074)")
    return one if one.has_all else replace(one, why="what is reserved leaves too little (10047)")


def _in_cluster(wanted: StreamRoom, name: str, servers: Sequence[Server], land: Landscape) -> StreamRoom:
    """One stream after the other, each on the servers with the most left, as the meta leader places them."""
    shown = [server for server in servers if server.jetstream and not server.jetstream.disabled]
    placed, number = dict.fromkeys((server.name for server in shown), 0), 0
    while number < wanted.streams and (chosen := _servers_for_next(wanted, shown, placed)):
        number += 1
        for server in chosen:
            placed[server.name] += 1
    result = replace(wanted, fit=number, place=name, servers=tuple(_server_fits(wanted, shown)))
    if result.has_all:
        return result
    domains = {server.domain for server in servers}
    members = [server for server in land.by_name.values() if server.meta is not None and server.domain in domains]
    unseen = max((server.meta.cluster_size for server in members if server.meta), default=0) - len(members)
    if unseen > 0:
        return replace(result, fit=None, why=f"{counted(unseen, 'member')} of the meta group did not respond")
    rest = "another one" if number else "one"
    return replace(result, why=f"fewer than {counted(wanted.replicas, 'server')} would take {rest} (10005)")


def _servers_for_next(wanted: StreamRoom, servers: Sequence[Server], placed: Mapping[str, int]) -> list[Server]:
    """The servers of the next stream; none where there are too few."""
    left = {each.name: bytes_left(each, wanted.storage, placed[each.name] * wanted.size) for each in servers}
    config, prefix = wanted.config, unique_tag(servers)
    found: list[Server] = []
    for server in sorted(servers, key=lambda each: -left[each.name]):
        if not refusal(server, config, prefix, found, placed[server.name]):
            found.append(server)
    return found[: wanted.replicas] if len(found) >= wanted.replicas else []


def _in_account(wanted: StreamRoom, account: Account, land: Landscape, accounts: Accounts) -> Iterator[StreamRoom]:
    """A row where the account's limits refuse some of the streams, or may, as releases differ."""
    config, series = wanted.config, land.series
    if series is None:
        return

    def refused(number: int) -> str:
        """Why one more stream is refused after `number` of them; empty: it is not."""
        last = series.last
        more = (
            Stream(account=account.name, name=f" {n}", config=config, state=StreamState(), at=account.at)
            for n in range(number)
        )
        after = SnapshotSeries((replace(last, streams=(*last.streams, *more)),))
        limits = ResourceLimits(account.name, Manifests(), after, accounts, None)
        return next((refusal.text for refusal in limits.refusals(config, None)), "")

    fit = bisect_left(range(wanted.streams), True, key=lambda number: bool(refused(number)))
    row = replace(wanted, place=account.name, is_account=True)
    if fit < wanted.streams:
        yield replace(row, fit=fit, why=refused(fit))
        return
    limits = next((tier.limits for tier in account.tiers if not tier.name), None)
    limit = -1 if limits is None else limits.max_memory if wanted.storage == "memory" else limits.max_storage
    held = [s.config for s in series.last.streams if s.account == account.name and s.config.storage == wanted.storage]
    reserved = sum(max(c.max_bytes, 0) * max(c.num_replicas, 1) for c in held)
    each = wanted.size * wanted.replicas
    if wanted.replicas > 1 and 0 < limit < reserved + each * wanted.streams:
        counts = bool(land.by_name) and all(
            release(server.version) >= _COUNTS_EACH_REPLICA for server in land.by_name.values()
        )
        why = f"each replica counts: {reserved:,} bytes of {limit:,} are reserved (the account's limit, error 10047)"
        fit = max(limit - reserved, 0) // each
        yield replace(row, fit=fit if counts else None, why=why if counts else f"{why}, in some releases")
