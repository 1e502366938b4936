"""What a server refuses of a change of a stream (server: stream.go configUpdateCheck, updateWithAdvisory)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.declared.refusal import ServerRefusal
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import rows

_ZERO_IS_NONE = (2, 14)
"""First release that reads a limit of 0 as none where it compares new limits with the consumers that are there."""


def of_change(
    config: StreamConfig, current: StreamConfig, consumers: Mapping[str, ConsumerConfig]
) -> Iterator[ServerRefusal]:
    """Why servers do not change a stream into this. `config` is as a server would check it, `consumers` are those of
    the stream, by name.
    """
    if config.storage != current.storage:
        yield ServerRefusal("storage", f"the storage cannot be changed from {current.storage} to {config.storage}")
    if config.retention != current.retention and "workqueue" in (config.retention, current.retention):
        text = f"the retention cannot be changed from {current.retention} to {config.retention}"
        yield ServerRefusal("retention", text)
    for row in rows(StreamConfig):
        if row.setting.lasting and getattr(current, row.attribute) and not getattr(config, row.attribute):
            yield ServerRefusal(row.name, f"{row.name} is set and cannot be taken back", since=row.setting.since)
    if config.mirror != current.mirror:
        promoted = config.mirror is None
        text = "a mirror cannot become an ordinary stream" if promoted else "what a mirror copies cannot be changed"
        yield ServerRefusal("mirror", text, 10055, before=(2, 12) if promoted else None)
    if config.allow_msg_counter != current.allow_msg_counter:
        yield ServerRefusal("allow_msg_counter", "allow_msg_counter cannot be changed", since=(2, 12))
    if (config.persist_mode or "default") != (current.persist_mode or "default"):
        yield ServerRefusal("persist_mode", "persist_mode cannot be changed", since=(2, 12))
    if config.max_consumers != current.max_consumers:
        yield ServerRefusal("max_consumers", "max_consumers cannot be changed", before=(2, 11))
    yield from _consumer_limits(config, current, consumers)


def _consumer_limits(
    config: StreamConfig, current: StreamConfig, consumers: Mapping[str, ConsumerConfig]
) -> Iterator[ServerRefusal]:
    wanted, was = config.consumer_limits, current.consumer_limits
    if wanted == was:
        return
    for zero_counts in (False, True):
        over = sorted(
            name
            for name, consumer in consumers.items()
            if _above(consumer.max_ack_pending, wanted.max_ack_pending, zero_counts)
            or _above(consumer.inactive_threshold_ns, wanted.inactive_threshold_ns, zero_counts)
        )
        if over:
            text = f"consumer_limits are below what consumer {over[0]} has"
            yield ServerRefusal("consumer_limits", text, 0, before=_ZERO_IS_NONE if zero_counts else None)
            return


def _above(value: int, limit: int, zero_counts: bool) -> bool:
    return value > limit if zero_counts else 0 < limit < value
