"""Which stream or consumer a Raft group belongs to."""

from __future__ import annotations

from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.raft import META_GROUP, RaftMember
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream


class GroupOwners:
    """The subject of every group. Group names are random, so that they are unique whatever the account."""

    def __init__(self, snapshots: SnapshotSeries | None) -> None:
        self._owners: dict[str, Subject] = {}
        for stream in snapshots.last.streams if snapshots else ():
            assets: tuple[Stream | Consumer, ...] = (stream, *stream.consumers)
            for asset in assets:
                if asset.cluster and asset.cluster.raft_group:
                    self._owners[asset.cluster.raft_group] = asset.subject

    def of(self, member: RaftMember) -> Subject:
        """The stream, the consumer, or the cluster for the meta group; the server where the group is not known."""
        if member.group == META_GROUP:
            return CLUSTER
        return self._owners.get(member.group) or Subject(kind="server", name=member.server)
