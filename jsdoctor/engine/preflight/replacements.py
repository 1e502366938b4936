"""Whether the meta leader could place replicas elsewhere if their servers were removed for good.

Each stream is judged by itself, by what servers have left now (server: jetstream_cluster.go remapStreamAssignment,
selectPeerGroup).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from jsdoctor.checks.cluster_health.placement import refusal, unique_tag
from jsdoctor.engine.preflight.groups import Landscape, RaftGroup
from jsdoctor.model.preflight import SideEffect
from jsdoctor.model.server import Server
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.wording import counted, joined

_SHOWN = 3


def replacements(land: Landscape, groups: Iterable[RaftGroup], away: frozenset[str]) -> Iterator[SideEffect]:
    """An effect that names the streams which would keep fewer copies, in clusters that were seen completely."""
    stuck, total, reasons = list[str](), 0, defaultdict[str, set[str]](set)
    for group in groups:
        stream = group.asset
        if not isinstance(stream, Stream) or group.size < 2 or group.doubt or not _sees_all(land, stream, away):
            continue
        names = {member.name for member in group.members}
        servers = [s for s in land.by_name.values() if _stores(s, stream) and s.name not in away | land.gone]
        kept = [server for server in servers if server.name in names]
        prefix = unique_tag(servers)
        refusals = {s.name: refusal(s, stream.config, prefix, kept) for s in servers if s.name not in names}
        total += bool(refusals)
        if refusals and sum(not why for why in refusals.values()) < len(names & away):
            stuck.append(group.subject.label)
            for name, why in refusals.items():
                reasons[why].add(name)
    reasons.pop("", None)
    causes = [f"{joined(sorted(names))}: {why}" for why, names in reasons.items()]
    if stuck:
        yield SideEffect(
            kind="copies_not_replaced",
            message=f"if {joined(sorted(away))} {'do' if len(away) > 1 else 'does'} not come back, {len(stuck)} of"
            f" {counted(total, 'stream')} with a replica there cannot get another ({'; '.join(causes[:_SHOWN])})",
            count=len(stuck),
            names=tuple(stuck),
        )


def _sees_all(land: Landscape, stream: Stream, away: frozenset[str]) -> bool:
    """Whether every member of the meta group responded, or is one of those that go or are gone."""
    members = [s.meta for s in land.by_name.values() if s.meta is not None and s.domain == stream.domain]
    missing = (away | land.gone) - land.by_name.keys()
    return 0 < max((meta.cluster_size for meta in members), default=0) <= len(members) + len(missing)


def _stores(server: Server, stream: Stream) -> bool:
    stats, cluster = server.jetstream, stream.cluster_name
    return server.cluster == cluster and server.domain == stream.domain and bool(stats and not stats.disabled)
