"""JSD811: servers that use up their processor, memory or subscriptions, or carry far more than the others.

For accounts: connections, leaf nodes and subscriptions against the limits in an account's JWT.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import fsum

import msgspec

from jsdoctor.checks.cluster_health.links import cluster_of
from jsdoctor.checks.cluster_health.placement_imbalance import Spread
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import name_of
from jsdoctor.model.account_claims import AccountClaims, AccountUse
from jsdoctor.model.connections import ClientConnection, Connections
from jsdoctor.model.finding import Finding, Observation, Outcome, Severity, failed, passed, suspected, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers, Varz
from jsdoctor.model.trend import ServerTrend
from jsdoctor.model.wording import counted

_MIN_SERVERS = 3
"""With fewer servers of a cluster none is compared with their mean."""


@check("server_health.resources_high")
def resources_high(
    servers: Servers, trend: ServerTrend | None, connections: Connections | None, params: Params
) -> Iterator[Finding]:
    """At most one finding for each server: the most severe. CPU and memory must be high in every sample."""
    histories = {history.last.name: history for history in (trend.servers if trend else ())}
    clients = {listed.server: listed.open for listed in (connections.servers if connections else ())}
    for server in servers.servers:
        if server.varz is None:
            yield unknown(server.subject, "its variables were not read", "see the gaps of this run")
            continue
        history = histories.get(server.name)
        all_readings = history.readings if history else ()
        readings = [reading for reading in all_readings if reading.server_id == server.server_id] or [server]
        findings = [
            *_processor(server, readings, params),
            *_memory(server, readings, params),
            *_subscriptions(server, server.varz, clients.get(server.name), params),
            *_assets(server, params),
            *_outlier(server, servers, params),
            *_many_clients(server, servers, params),
        ]
        worst = max(
            findings, key=lambda f: (f.outcome is Outcome.FAIL, (f.severity or Severity.WARNING).rank), default=None
        )
        yield worst or passed(server.subject)


def cores(varz: Varz) -> int:
    """Cores that it may use: a container's limit is in gomaxprocs, the machine's number in cores."""
    return min(varz.cores, varz.gomaxprocs) if varz.gomaxprocs and varz.cores else varz.cores or varz.gomaxprocs


def _shares(readings: Sequence[Server], share: Callable[[Varz], float]) -> list[float]:
    """The share in use in every reading; 0 if it was not read."""
    return [share(reading.varz) if reading.varz else 0.0 for reading in readings]


def _processor(server: Server, readings: Sequence[Server], params: Params) -> Iterator[Finding]:
    shares = _shares(readings, lambda varz: varz.cpu / (100 * cores(varz)) if cores(varz) else 0.0)
    limit = params.number("max_cpu")
    if server.varz is not None and server.varz.cpu and not cores(server.varz):
        reason = f"it uses {server.varz.cpu:g}% of a core, and how many it may use is not known"
        yield unknown(server.subject, reason, "read /varz again: it has `cores`")
        return
    if min(shares) < limit or server.varz is None:
        return
    if len(shares) == 1:
        yield suspected(
            server.subject, f"its processor is {shares[0]:.0%} busy, in the only sample", "run with --samples 2 or more"
        )
        return
    yield failed(
        server.subject,
        f"it keeps its {cores(server.varz):,} cores {shares[-1]:.0%} busy, in every sample: everything takes"
        " longer, and heartbeats that come late lead to elections",
        *(server.observed(name, getattr(server.varz, name)) for name in ("cpu", "cores", "gomaxprocs")),
        measured=(shares[-1], limit, "ratio"),
    )


def _memory(server: Server, readings: Sequence[Server], params: Params) -> Iterator[Finding]:
    """A finding if memory is near GOMEMLIMIT in every sample: Go then spends its time on garbage collection."""
    shares = _shares(readings, lambda varz: varz.mem / varz.gomemlimit if varz.gomemlimit else 0.0)
    limit = params.number("max_memory")
    if min(shares) < limit or server.varz is None:
        return
    yield failed(
        server.subject,
        f"it uses {server.varz.mem:,} bytes of memory and tries to stay below {server.varz.gomemlimit:,}"
        " (GOMEMLIMIT): it spends its time freeing memory, and may be killed for it",
        server.observed("mem", server.varz.mem),
        server.observed("gomemlimit", server.varz.gomemlimit),
        measured=(shares[-1], limit, "ratio"),
    )


def _subscriptions(
    server: Server, varz: Varz, clients: Sequence[ClientConnection] | None, params: Params
) -> Iterator[Finding]:
    """A finding for the connection with most subscriptions: the limit is one of each connection (subsAtLimit)."""
    if varz.max_subscriptions <= 0:
        return
    if clients is None:
        reason = f"a connection may have {varz.max_subscriptions:,} subscriptions, and its connections were not read"
        yield unknown(server.subject, reason, "see the gaps of this run")
        return
    largest = max(clients, key=lambda client: client.subscriptions, default=None)
    if largest is None:
        return
    used = largest.subscriptions / varz.max_subscriptions
    if used >= params.number("max_subscriptions"):
        yield failed(
            server.subject,
            f"{name_of(largest)} has {counted(largest.subscriptions, 'subscription')}, and a connection may"
            f" have {varz.max_subscriptions:,} (max_subscriptions): at the limit what it subscribes is refused",
            server.observed(f"connz[cid {largest.cid}].subscriptions", largest.subscriptions),
            server.observed("max_subscriptions", varz.max_subscriptions),
            measured=(used, params.number("max_subscriptions"), "ratio"),
        )


def _assets(server: Server, params: Params) -> Iterator[Finding]:
    if server.jetstream is None:
        yield unknown(server.subject, "how many Raft groups it is in was not read", "see the gaps of this run")
        return
    assets = server.jetstream.ha_assets
    many = assets >= params.integer("max_ha_assets")
    if many or assets >= params.integer("warn_ha_assets"):
        yield failed(
            server.subject,
            f"it takes part in {assets:,} Raft groups of replicated streams and consumers: each costs"
            " heartbeats, memory and files, and after a restart all of them must catch up",
            server.observed("ha_assets", assets),
            severity=None if many else Severity.INFO,
            measured=(assets, params.integer("max_ha_assets" if many else "warn_ha_assets"), "count"),
        )


def _outlier(server: Server, servers: Servers, params: Params) -> Iterator[Finding]:
    """A finding if it uses far more memory than the mean of its cluster, in every sample."""
    ratios = [_ratio_to_mean(server, sample) for sample in servers.samples]
    if min(ratios) < params.number("memory_outlier") or server.varz is None:
        return
    if server.varz.mem >= params.integer("min_outlier"):
        yield failed(
            server.subject,
            f"it uses {server.varz.mem:,} bytes of memory, {ratios[-1]:.1f} times the mean of its cluster:"
            " leaders, clients or memory streams may be piled up there",
            server.observed("mem", server.varz.mem),
            severity=Severity.INFO,
            measured=(ratios[-1], params.number("memory_outlier"), "ratio"),
        )


def _ratio_to_mean(server: Server, sample: Sequence[Server]) -> float:
    cluster = cluster_of(server)
    if not cluster:
        return 0.0
    sizes = {other.name: other.varz.mem for other in sample if other.varz and cluster_of(other) == cluster}
    if len(sizes) < _MIN_SERVERS or not sizes.get(server.name):
        return 0.0
    return sizes[server.name] / (fsum(sizes.values()) / len(sizes))


def _many_clients(server: Server, servers: Servers, params: Params) -> Iterator[Finding]:
    """A finding if it has far more clients than the other servers of its cluster, in every sample."""
    if server.varz is None or not cluster_of(server):
        return
    least, ratio = params.integer("min_connections"), params.number("connections_outlier")
    samples = ([s for s in sample if s.varz and cluster_of(s) == cluster_of(server)] for sample in servers.samples)
    spreads = [Spread({s.name: s.varz.connections for s in members if s.varz}) for members in samples]
    if not all(server.name in spread.counts and spread.is_heavy(server.name, least, ratio) for spread in spreads):
        return
    spread = spreads[-1]
    yield failed(
        server.subject,
        f"{spread.counts[server.name]:,} of the {spread.total:,} client connections of its cluster are on it,"
        f" where an equal share is {spread.fair:,.0f}: clients know only its address, or stayed there when the other"
        " servers were restarted",
        server.observed("connections", server.varz.connections),
        severity=Severity.INFO,
        measured=(spread.counts[server.name] / spread.fair, ratio, "ratio"),
    )


_MostSubscriptions = Mapping[str, tuple[int, Observation]]


class AccountLimitUse(msgspec.Struct, frozen=True):
    """How much of one limit is taken, and what happens when it is full."""

    text: str
    used: int
    limit: int
    then: str
    evidence: tuple[Observation, ...]


@check("server_health.account_limits")
def account_limits(claims: AccountClaims, connections: Connections | None, params: Params) -> Iterator[Finding]:
    """Each server counts its own connections; the limit is on their sum (server: accounts.go).

    The limit on subscriptions is one for each connection of the account (server: client.go applyAccountLimits).
    """
    warn_at = params.number("max_account")
    by_account: dict[str, list[AccountUse]] = defaultdict(list)
    for use in claims.uses:
        by_account[use.account].append(use)
    most = _most_subscriptions(connections)
    whole = connections is not None and all(server.open is not None for server in connections.servers)
    for account, uses in sorted(by_account.items()):
        shares = [share for share in _shares_account_limits(uses, most, account) if share.limit > 0]
        late = [share for share in shares if share.used >= warn_at * share.limit]
        if late:
            worst = max(late, key=lambda share: share.used / share.limit)
            full = worst.used >= worst.limit
            yield failed(
                uses[0].subject,
                "; ".join(
                    f"{share.used:,} of {share.limit:,} {share.text} that its JWT allows are in use:"
                    f" {'' if share.used >= share.limit else 'at the limit '}{share.then}"
                    for share in late
                ),
                *(observation for share in late for observation in share.evidence),
                severity=Severity.ERROR if full else Severity.WARNING,
                measured=(worst.used / worst.limit, 1.0 if full else warn_at, "ratio"),
                remedy={"action": "server.look_at_account"},
            )
        elif not whole and uses[-1].limits.subs > 0 and any(use.clients for use in uses):
            reason = (
                f"one connection may have {uses[-1].limits.subs:,} subscriptions, and its connections were not read"
            )
            yield unknown(uses[0].subject, reason, "see the gaps of this run")
        else:
            yield passed(uses[0].subject)


def _shares_account_limits(
    uses: Sequence[AccountUse], most: _MostSubscriptions, account: str
) -> Iterator[AccountLimitUse]:
    limits = uses[-1].limits
    yield AccountLimitUse(
        "client connections",
        sum(use.clients for use in uses),
        limits.conn,
        "new clients are refused (maximum account active connections exceeded)",
        tuple(use.observed("client_connections", use.clients) for use in uses),
    )
    yield AccountLimitUse(
        "leaf node connections",
        sum(use.leafs for use in uses),
        limits.leaf,
        "new leaf nodes are refused",
        tuple(use.observed("leafnode_connections", use.leafs) for use in uses),
    )
    if account in most:
        held, seen = most[account]
        yield AccountLimitUse(
            "subscriptions of one connection",
            held,
            limits.subs,
            "that client's next subscriptions are refused (maximum subscriptions exceeded)",
            (seen,),
        )


def _most_subscriptions(connections: Connections | None) -> _MostSubscriptions:
    """By account, the most subscriptions of one connection; connections without a login have no account."""
    most: dict[str, tuple[int, Observation]] = {}
    for server in connections.servers if connections else ():
        for client in server.open or ():
            if client.account and client.subscriptions > most.get(client.account, (0,))[0]:
                path = f"connections[{client.cid}].subscriptions"
                most[client.account] = client.subscriptions, server.observed(path, client.subscriptions)
    return most
