"""JSD716: streams and consumers for which no suitable servers were found, and clusters that cannot place any.

A refused stream leaves no trace but in logs: without them, servers are judged by what they could take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.cluster_health.links import Members, clusters
from jsdoctor.checks.cluster_health.peer_reachability import being_scaled
from jsdoctor.checks.cluster_health.raft import members_of
from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.words import cluster_of, listed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, failed, passed, unknown
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.server import ConnectedServer, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted

_PASSED_OVER = ("placement-no-storage", "placement-ha-limit", "ha-assets-full")
_FAILED = {
    "placement-retried": "no place was found and another was tried",
    "stream-assignment-rejected": "the server that it was placed on refused it",
    "consumer-assignment-rejected": "the server that it was placed on refused it",
    "consumer-assignment-dropped": "the server that it was placed on refused it",
    "peer-not-replaced": "no server could take the place of a removed peer: it runs with fewer replicas",
    "peer-removal-refused": "a peer was not removed because no server could take its place",
}
_ADVICE = "add storage or servers, raise max_ha_assets, or request less (max_bytes, replicas, tags)"
_REPLICAS = 3
"""The fewest replicas that survive the loss of a server; smaller clusters are not judged."""


@check("cluster_health.placement_seen")
def placement_seen(
    snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None, params: Params
) -> Iterator[Finding]:
    """The meta leader compares tags and limits as it places a stream (server: jetstream_cluster.go selectPeerGroup)."""
    by_name = {server.name: server for server in servers.servers} if servers else {}
    for group in clusters(servers) if servers else ():
        yield from _judge_cluster(group)
    samples = [{stream.key: stream for stream in sample.streams} for sample in snapshots.snapshots]
    for stream in snapshots.last.led_streams():
        if stream.cluster is not None and stream.config.num_replicas > 1:
            readings = [reading for sample in samples if (reading := sample.get(stream.key))]
            few = _few_members(stream, readings, servers, connected, params.integer("settle"))
            yield few or _shared_zone(stream, by_name) or passed(stream.subject)


def _judge_cluster(group: Members) -> Iterator[Finding]:
    """Judge whether a cluster of three servers or more can place a stream with three replicas."""
    storing = [server for server in group.servers if server.jetstream and not server.jetstream.disabled]
    if len(storing) < _REPLICAS:
        return
    prefix = unique_tag(storing)
    values = {value for server in storing if (value := value_of_tag(server, prefix))}
    full = [server for server in storing if is_full(server)]
    left = {value for server in storing if server not in full and (value := value_of_tag(server, prefix))}
    if prefix and len(values) < _REPLICAS:
        without = [server.name for server in storing if not value_of_tag(server, prefix)]
        lacking = f"; {', '.join(without)} have none" if without else ""
        yield failed(
            group.subject,
            f"`unique_tag` demands servers with different tags {prefix}…, and {len(storing)} servers have"
            f" {counted(len(values), 'value')} of it ({', '.join(sorted(values))}{lacking}): a stream with"
            f" {_REPLICAS} replicas is refused (10005)",
            *(server.observed("tags", list(_tags(server))) for server in storing),
            measured=(len(values), _REPLICAS, "count"),
        )
    elif len(storing) - len(full) < _REPLICAS:
        yield failed(
            group.subject,
            f"{counted(len(full), 'server')} of {len(storing)} have more replicated streams and consumers than"
            f" their `max_ha_assets`: a stream with {_REPLICAS} replicas is refused (10005)",
            *(server.observed("ha_assets", _ha_assets(server)) for server in full),
            measured=(len(storing) - len(full), _REPLICAS, "count"),
        )
    elif prefix and len(left) < _REPLICAS:
        yield failed(
            group.subject,
            f"`unique_tag` demands servers with different tags {prefix}…, and those below their `max_ha_assets` have"
            f" {counted(len(left), 'value')} of it ({', '.join(sorted(left))}): a stream with {_REPLICAS} replicas is"
            " refused (10005)",
            *(server.observed("tags", list(_tags(server))) for server in storing),
            *(server.observed("ha_assets", _ha_assets(server)) for server in full),
            measured=(len(left), _REPLICAS, "count"),
        )
    else:
        yield passed(group.subject)


def _few_members(
    stream: Stream,
    readings: Sequence[Stream],
    servers: Servers | None,
    connected: ConnectedServer | None,
    settle_ns: int,
) -> Finding | None:
    """A peer was removed, and no server could take its place (server: jetstream_cluster.go remapStreamAssignment)."""
    wanted, members = stream.config.num_replicas, members_of(stream)
    if len(members) >= wanted:
        return None
    if len(readings) < 2:
        text = f"it has {len(members)} of {wanted} replicas in the only sample"
        return unknown(stream.subject, text, "run with --samples 2 or more")
    if any(len(members_of(reading)) >= wanted or reading.config.num_replicas != wanted for reading in readings[:-1]):
        return unknown(stream.subject, "its replicas changed between the samples", "run again in a minute")
    if scaling := being_scaled(stream, servers, connected, settle_ns):
        return scaling
    return failed(
        stream.subject,
        f"it has {len(members)} of {wanted} replicas ({', '.join(members)}): a peer was removed, or never placed,"
        " and no other server has the room, the tags and the cluster that it needs",
        stream.observed("config.num_replicas", wanted),
        stream.observed("cluster.replicas", list(members)),
        measured=(len(members), wanted, "count"),
    )


def _shared_zone(stream: Stream, by_name: dict[str, Server]) -> Finding | None:
    """A finding if replicas are on servers with the same unique tag, which these were given later on."""
    holders = [by_name[name] for name in members_of(stream) if name in by_name]
    prefix = unique_tag(list(by_name.values()))
    placed = stream.config.placement.tags if stream.config.placement else ()
    if not prefix or len(holders) < len(members_of(stream)) or any(tag.lower().startswith(prefix) for tag in placed):
        return None
    values = [value_of_tag(server, prefix) for server in holders]
    if len({value for value in values if value}) == len(values):
        return None
    where = ", ".join(f"{server.name} {value or 'none'}" for server, value in zip(holders, values, strict=True))
    return failed(
        stream.subject,
        f"`unique_tag` demands servers with different tags {prefix}…, and its replicas share one ({where}): it was"
        " placed before they had them. A replica that is lost is not replaced",
        *(server.observed("tags", list(_tags(server))) for server in holders),
        measured=(len({value for value in values if value}), len(values), "count"),
    )


def unique_tag(servers: Sequence[Server]) -> str:
    """The prefix that all of them demand; empty where they have none, or differ (JSD710)."""
    demanded = {s.jetstream.config.unique_tag.lower() for s in servers if s.jetstream and s.jetstream.config}
    return demanded.pop() if len(demanded) == 1 else ""


def _tags(server: Server) -> tuple[str, ...]:
    return server.varz.tags if server.varz else ()


def value_of_tag(server: Server, prefix: str) -> str:
    """The tag of a server with that prefix; empty for none."""
    return next((tag.lower() for tag in _tags(server) if prefix and tag.lower().startswith(prefix)), "")


def _ha_assets(server: Server) -> int:
    return server.jetstream.ha_assets if server.jetstream else 0


def is_full(server: Server, more: int = 0) -> bool:
    """Whether a server takes no further replica: it has more than `max_ha_assets` before the new one.

    `more` is the number of replicas placed on it since.
    """
    limits = server.varz.jetstream.limits if server.varz and server.varz.jetstream else None
    return limits is not None and 0 < limits.max_ha_assets < _ha_assets(server) + more


def bytes_left(server: Server, storage: str = "file", more: int = 0) -> int:
    """The largest max_bytes that a server accepts after `more` further bytes are reserved on it."""
    stats = server.jetstream
    if stats is None or stats.disabled or stats.config is None:
        return 0
    limit, reserved, used = stats.config.max_storage, stats.reserved_storage, stats.storage
    if storage == "memory":
        limit, reserved, used = stats.config.max_memory, stats.reserved_memory, stats.memory
    reserved += more
    return max(limit - (reserved if server.meta is None else max(reserved, used)), 0)


def refusal(server: Server, config: StreamConfig, prefix: str, kept: Sequence[Server], placed: int = 0) -> str:
    """Why a server takes no replica besides those on `kept`; empty: it does. `prefix`: the tag prefix of `unique_tag`.

    `placed` is the number of such streams placed on it since. Tags that servers must not have are not compared.
    """
    wanted = [tag.lower() for tag in config.placement.tags if not tag.startswith("!")] if config.placement else []
    if missing := [tag for tag in wanted if tag not in map(str.lower, _tags(server))]:
        return f"no tag {missing[0]}"
    value = value_of_tag(server, prefix)
    is_free = bool(value) and value not in {value_of_tag(each, prefix) for each in kept}
    if prefix and not is_free and not any(tag.startswith(prefix) for tag in wanted):
        return f"unique_tag {value} is taken" if value else f"no tag {prefix}, which unique_tag demands"
    if config.num_replicas > 1 and is_full(server, placed):
        return "max_ha_assets is passed"
    left = bytes_left(server, config.storage, placed * max(config.max_bytes, 0))
    return f"{left:,} bytes left for max_bytes {config.max_bytes:,}" if left < config.max_bytes else ""


@check("cluster_health.placement_logged", lines_of="any")
def placement_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The meta leader logs whom it passed over; the client gets error 10005 (server: selectPeerGroup)."""
    if not (logs.has_server_logs or logs.has_client_logs):
        yield unknown(CLUSTER, "no line of a server or client was read", "name the servers' logs")
        return
    refused = bursts(logs, "placement-refused-to-client", subjects=cluster_of, calm=False)
    for burst in refused:
        yield detailed_finding(burst, f"clients were refused{burst.in_brackets('reason')}", _ADVICE)
    for signature, what in _FAILED.items():
        for burst in bursts(logs, signature, calm=False):
            reason = burst.values("reason")
            yield detailed_finding(burst, f"{what} ({reason})" if reason else what, _ADVICE)
    for burst in bursts(logs, *_PASSED_OVER, subjects=cluster_of, calm=False):
        yield detailed_finding(
            burst, _passed_over(burst), _ADVICE, None if _names_several_servers(burst) or refused else Severity.INFO
        )


def _names_several_servers(burst: Burst) -> bool:
    """Whether more than one server was passed over, which leaves no choice in a small cluster."""
    return len({item.value("server") for item in burst.found}) > 1


def _passed_over(burst: Burst) -> str:
    why = {
        "placement-no-storage": "not enough storage left unreserved",
        "placement-ha-limit": "too many replicated assets",
        "ha-assets-full": "too many replicated assets",
    }
    reasons = listed(why[occurrence.signature] for occurrence in burst.found)
    servers = listed(occurrence.value("server") or occurrence.logged_by for occurrence in burst.found)
    return f"passed over when streams or consumers were placed: {servers} ({reasons})"
