"""What a deployment must use so that a known defect can hit it: the conditions that `rules/defects.toml` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jsdoctor.model.snapshot import Stream

Condition = Callable[[Stream], bool]
"""Whether the defect can hit this stream, or a consumer of it."""


def _over_leaf_node(stream: Stream) -> bool:
    origins = (stream.config.mirror, *stream.config.sources)
    return any(origin is not None and origin.external is not None for origin in origins)


CONDITIONS: Mapping[str, Condition] = {
    "one_message_per_subject": lambda s: s.config.storage == "file" and s.config.max_msgs_per_subject == 1,
    "max_deliver": lambda s: any(
        c.config.max_deliver > 0 and c.config.ack_policy not in ("none", "") for c in s.consumers
    ),
    "max_ack_pending": lambda s: any(c.config.max_ack_pending > 0 and c.num_ack_pending > 0 for c in s.consumers),
    "replicated_interest": lambda s: s.config.retention == "interest" and s.config.num_replicas > 1,
    "file_storage": lambda s: s.config.storage == "file",
    "memory_storage": lambda s: s.config.storage == "memory",
    "compression": lambda s: s.config.storage == "file" and s.config.compression not in ("", "none"),
    "schedules": lambda s: s.config.allow_msg_schedules,
    "counters": lambda s: s.config.allow_msg_counter,
    "direct_get": lambda s: s.config.allow_direct and s.config.num_replicas > 0,
    "sources_over_leaf_node": _over_leaf_node,
    "mqtt": lambda s: s.is_mqtt,
    "replicated_streams": lambda s: s.config.num_replicas > 1,
    "replicated_consumers": lambda s: s.config.num_replicas > 1 and bool(s.consumers),
}
