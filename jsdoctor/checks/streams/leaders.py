"""How long the leader of a stream or consumer has led it."""

from __future__ import annotations

from jsdoctor.model.snapshot import Consumer, Stream


def led_ns(asset: Stream | Consumer) -> int | None:
    """Time since its leader was elected; None where the server reports none.

    2.12 and later do, but for a leader that came from a single replica.
    """
    since = asset.cluster.leader_since if asset.cluster else None
    return None if since is None else int((asset.at - since).total_seconds() * 1e9)
