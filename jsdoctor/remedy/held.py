"""Assets that only one server holds: streams and consumers with a single replica there, and accounts without evidence.

Removing a peer moves such assets to another server, empty: on 2.10.26, 2.12.8 and 2.15.1 the stream then has no
messages and the consumer no position, while the name, the configuration and the time of creation stay. The only copy is
in the store of the removed server, and is deleted when that server starts with it again. Assets with more replicas keep
what the other replicas have, also if no server is left to take the place.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import AssetLoss
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream


class Witness(msgspec.Struct, frozen=True):
    """A snapshot, now or earlier, the accounts that its login saw, and the servers that responded.

    A login of an account (`servers` is None) sees all assets of that account, including those without a response; a
    login of the system account sees the assets of the servers that respond, so it shows a server only while that one
    responds.
    """

    snapshot: ClusterSnapshot
    accounts: frozenset[str]
    servers: frozenset[str] | None = None

    def shows(self, server: str) -> frozenset[str]:
        """The accounts of which it shows every asset on that server."""
        return self.accounts if self.servers is None or server in self.servers else frozenset()


def losses(server: str, now: ClusterSnapshot, earlier: Sequence[ClusterSnapshot]) -> tuple[AssetLoss, ...]:
    """The assets that are lost if that server is removed.

    `earlier` are snapshots of the same deployment, with any login. An asset seen on the server earlier counts unless
    another server has led it since. An asset without a response now counts, wherever it was.
    """
    asset_losses: dict[Subject, AssetLoss] = {}
    for snapshot in sorted((*earlier, now), key=lambda item: item.taken_at):
        for stream in snapshot.streams:
            _note(asset_losses, server, snapshot, stream)
            for consumer in stream.consumers:
                _note(asset_losses, server, snapshot, consumer)
        for silent in snapshot.silent:
            asset_losses.setdefault(silent.subject, AssetLoss(subject=silent.subject))
    streams = {subject for subject in asset_losses if subject.kind == "stream"}
    return tuple(
        asset_losses[subject] for subject in sorted(asset_losses, key=_order) if not _is_within(subject, streams)
    )


def _note(losses: dict[Subject, AssetLoss], server: str, snapshot: ClusterSnapshot, asset: Stream | Consumer) -> None:
    cluster = asset.cluster
    alone = cluster is not None and not cluster.replicas and cluster.leader == server
    if alone and isinstance(asset, Stream):
        state = asset.state
        losses[asset.subject] = AssetLoss(
            subject=asset.subject, messages=state.messages, bytes=state.bytes, as_of=snapshot.taken_at
        )
    elif alone and isinstance(asset, Consumer):
        position = asset.delivered.stream_seq
        losses[asset.subject] = AssetLoss(subject=asset.subject, messages=position, as_of=snapshot.taken_at)
    elif asset.from_leader and asset.has_leader:
        losses.pop(asset.subject, None)


def _is_within(subject: Subject, streams: set[Subject]) -> bool:
    """Whether it is a consumer of a stream that is lost as a whole."""
    stream = Subject(kind="stream", name=subject.stream, account=subject.account)
    return subject.kind == "consumer" and stream in streams


def _order(subject: Subject) -> tuple[str, str, str]:
    return subject.account, subject.stream or subject.name, subject.name if subject.stream else ""
