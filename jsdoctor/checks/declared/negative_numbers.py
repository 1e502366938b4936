"""Negative numbers that servers take and read as something else (seen with 2.10.26, 2.12.8 and 2.15.1)."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.refusal import ServerRefusal
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import rows


def of_stream(config: StreamConfig) -> Iterator[ServerRefusal]:
    """Limits below -1, which is the number for none."""
    yield from _below(config)
    limits = config.consumer_limits
    if limits.max_ack_pending < -1 or limits.inactive_threshold_ns < 0:
        name = "max_ack_pending" if limits.max_ack_pending < -1 else "inactive_threshold"
        text = (
            f"consumer_limits.{name} is negative: servers take it, and set no limit; leave it out if that is intended"
        )
        yield ServerRefusal("consumer_limits", text, 0)


def of_consumer(config: ConsumerConfig) -> Iterator[ServerRefusal]:
    """Limits below -1, and what is not set where it is negative."""
    yield from _below(config)


def _below(config: StreamConfig | ConsumerConfig) -> Iterator[ServerRefusal]:
    for row in rows(type(config)):
        value = getattr(config, row.attribute)
        if row.negative == -1 and value < -1:
            text = f"{row.name}: {value} sets no limit; write -1 if that is intended"
            yield ServerRefusal(row.name, text, 0)
        elif row.negative == 0 and value < 0 and isinstance(config, ConsumerConfig):
            yield ServerRefusal(row.name, f"{row.name} is negative: servers from 2.11 on read it as not set", 0)
