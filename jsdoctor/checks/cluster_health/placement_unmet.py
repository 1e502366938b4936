"""JSD723: a stream on servers that do not have the tags, or the cluster, of its placement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jsdoctor.checks.cluster_health.links import cluster_of
from jsdoctor.checks.cluster_health.raft import members_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.jetstream import Placement
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_EXCLUDED = "!"
"""Before a tag that the servers must not have (server: jetstream_cluster.go selectPeerGroup)."""


@check("cluster_health.placement_unmet")
def placement_unmet(snapshots: SnapshotSeries, servers: Servers) -> Iterator[Finding]:
    """Compare the servers that hold a stream with its placement: the meta leader does so only when it places it."""
    known = {server.name: server for server in servers.servers if server.varz is not None}
    earlier = [{stream.key: stream for stream in sample.streams} for sample in snapshots.snapshots[:-1]]
    for stream in snapshots.last.streams:
        placement = stream.config.placement
        if placement is None or not (placement.tags or placement.cluster) or stream.cluster is None:
            continue
        holders = [known[name] for name in members_of(stream) if name in known]
        wrong = [server for server in holders if _lacks(server, placement)]
        if not holders:
            yield unknown(stream.subject, "none of the servers that hold it responded", "see the gaps of this run")
        elif not wrong:
            yield passed(stream.subject)
        elif len(members_of(stream)) > stream.config.num_replicas or not _is_settled(stream, earlier):
            yield unknown(stream.subject, "it is being moved, or was while samples were taken", "run again in a minute")
        else:
            yield _finding(stream, placement, wrong, _suitable(stream, placement, known.values()))


def _is_settled(stream: Stream, earlier: Sequence[dict[tuple[str, str], Stream]]) -> bool:
    """Whether every sample showed the same placement and the same servers, and there was more than one."""
    before = [sample.get(stream.key) for sample in earlier]
    return bool(before) and all(
        reading is not None
        and reading.config.placement == stream.config.placement
        and members_of(reading) == members_of(stream)
        for reading in before
    )


def _lacks(server: Server, placement: Placement) -> tuple[str, ...]:
    """What the placement demands and this server does not have. Tags are compared without regard to case."""
    own = {tag.strip().lower() for tag in (server.varz.tags if server.varz else ())}
    wanted = [tag.strip().lower() for tag in placement.tags]
    missing = [t for t in wanted if (t[1:] in own if t.startswith(_EXCLUDED) else t not in own)]
    elsewhere = placement.cluster and placement.cluster != cluster_of(server)
    return (*(f"tag {tag}" for tag in missing), *((f"cluster {placement.cluster}",) if elsewhere else ()))


def _suitable(stream: Stream, placement: Placement, servers: Iterable[Server]) -> int:
    """How many servers with JetStream meet the placement, in the stream's cluster where the placement names none."""
    cluster = "" if placement.cluster or stream.cluster is None else stream.cluster.name
    return sum(
        not _lacks(server, placement)
        and server.domain == stream.domain
        and (not cluster or cluster_of(server) == cluster)
        and server.jetstream is not None
        and not server.jetstream.disabled
        for server in servers
    )


def _finding(stream: Stream, placement: Placement, wrong: Sequence[Server], suitable: int) -> Finding:
    wanted = stream.config.num_replicas
    where = "; ".join(f"{server.name} lacks {', '.join(_lacks(server, placement))}" for server in wrong)
    effect = (
        "so many have what it names that it can be moved there, if it is not on its way"
        if suitable >= wanted
        else f"{suitable} have what it names, and {wanted} are needed: a replica that is lost is not replaced, and"
        " an edit that adds replicas is refused (10005)"
    )
    return failed(
        stream.subject,
        f"it is held by servers that its placement leaves out ({where}); of the servers that responded, {effect}",
        stream.observed("config.placement.tags", list(placement.tags)),
        *(server.observed("tags", list(server.varz.tags)) for server in wrong if server.varz),
        severity=Severity.INFO if suitable >= wanted else None,
        measured=(suitable, wanted, "count"),
    )
