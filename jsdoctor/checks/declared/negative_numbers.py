"""Negative numbers that servers take and read as something else (seen with 2.10.26, 2.12.8 and 2.15.1)."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.refusal import ServerRefusal
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig

_STREAM_LIMITS = ("max_msgs", "max_bytes", "max_msg_size", "max_msgs_per_subject", "max_consumers")
_UNSET_CONSUMER = (
    "idle_heartbeat_ns",
    "inactive_threshold_ns",
    "max_waiting",
    "max_batch",
    "max_expires_ns",
    "max_bytes",
)


def of_stream(config: StreamConfig) -> Iterator[ServerRefusal]:
    """Limits below -1, which is the number for none."""
    for field in _STREAM_LIMITS:
        yield from _no_limit(field, getattr(config, field))
    limits = config.consumer_limits
    if limits.max_ack_pending < -1 or limits.inactive_threshold_ns < 0:
        name = "max_ack_pending" if limits.max_ack_pending < -1 else "inactive_threshold"
        text = (
            f"consumer_limits.{name} is negative: servers take it, and set no limit; leave it out if that is intended"
        )
        yield ServerRefusal("consumer_limits", text, 0)


def of_consumer(config: ConsumerConfig) -> Iterator[ServerRefusal]:
    """Limits below -1, and what is not set where it is negative."""
    for field in ("max_ack_pending", "max_deliver"):
        yield from _no_limit(field, getattr(config, field))
    for attribute in _UNSET_CONSUMER:
        if getattr(config, attribute) < 0:
            field = attribute.removesuffix("_ns")
            yield ServerRefusal(field, f"{field} is negative: servers from 2.11 on read it as not set", 0)


def _no_limit(field: str, value: int) -> Iterator[ServerRefusal]:
    if value < -1:
        yield ServerRefusal(field, f"{field}: {value} sets no limit; write -1 if that is intended", 0)
