"""Parts of replies that show neither a name nor what is around them, recognised by the names of their fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jsdoctor.model.jetstream import Cluster, StreamState
from jsdoctor.model.server import MetaGroup, Varz
from jsdoctor.parse.pasted.documents import UNKNOWN_NAME
from jsdoctor.parse.replies import ConsumerReply, JszReply, StreamReply
from jsdoctor.parse.unseen import reply_fields

LEAST = 3
OF_CONSUMERS = frozenset(
    {"stream_name", "num_ack_pending", "num_redelivered", "num_waiting", "num_pending", "ack_floor"}
)
_OF_VARZ = frozenset({"total_connections", "slow_consumers", "max_control_line", "in_msgs", "gomaxprocs"})
_SHAPES: tuple[tuple[Any, str, Collection[str]], ...] = (
    (ConsumerReply, "", OF_CONSUMERS),
    (Varz, "", _OF_VARZ),
    (StreamReply, "", {"state", "cluster"}),
    (Cluster, "cluster", {"replicas", "raft_group"}),
    (MetaGroup, "meta_cluster", {"cluster_size"}),
    (JszReply, "", {"meta_cluster"}),
    (StreamState, "state", {"first_seq", "last_seq"}),
)
"""What a part may be of, the key under which it stands there, and fields of which it has one."""


def fragment(value: Mapping[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """The shape that a part belongs to, and the part in its place with names for what has none; None for other values.

    Three fields must be known by name, those inside of its parts too.
    """
    for shape, key, telling in _SHAPES:
        if not telling & value.keys() or known_fields(value, shape) < LEAST:
            continue
        whole = {key: dict(value)} if key else dict(value)
        if shape is ConsumerReply:
            return shape, {"stream_name": UNKNOWN_NAME, "name": UNKNOWN_NAME, **whole}
        if shape in (MetaGroup, JszReply):
            return JszReply, {"disabled": False, **whole}
        if shape is not Varz:
            config = whole.get("config") if isinstance(whole.get("config"), dict) else {}
            return StreamReply, {**whole, "config": {"name": whole.get("name", UNKNOWN_NAME), **(config or {})}}
        return shape, whole
    return None


def known_fields(value: Mapping[str, Any], shape: Any) -> int:
    """How many fields of a value and of its parts a shape has."""
    number = 0
    for _, key, below, _ in reply_fields(shape):
        if key in value:
            inner = value[key]
            number += 1 + (known_fields(inner, below) if below is not None and isinstance(inner, dict) else 0)
    return number
