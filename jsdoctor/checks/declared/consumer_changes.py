"""What a server refuses of a change of a consumer (server: consumer.go checkNewConsumerConfig)."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.refusal import OLDEST, ServerRefusal
from jsdoctor.model.jetstream import ConsumerConfig

_FIXED = (
    ("deliver_policy", "deliver_policy", "the deliver policy", OLDEST),
    ("opt_start_seq", "opt_start_seq", "the start sequence", OLDEST),
    ("opt_start_time", "opt_start_time", "the start time", OLDEST),
    ("ack_policy", "ack_policy", "the acknowledgement policy", OLDEST),
    ("replay_policy", "replay_policy", "the replay policy", OLDEST),
    ("idle_heartbeat_ns", "idle_heartbeat", "the heartbeat", OLDEST),
    ("flow_control", "flow_control", "flow control", OLDEST),
    ("max_waiting", "max_waiting", "max_waiting", OLDEST),
    ("mem_storage", "mem_storage", "mem_storage", (2, 14)),
)
"""Attribute, field and text of what a consumer keeps from its creation, and the first release that refuses a change."""


def of_change(config: ConsumerConfig, current: ConsumerConfig) -> Iterator[ServerRefusal]:
    """Why servers do not change a consumer into this."""
    if config.is_push != current.is_push:
        kinds = ("pull", "push")
        text = f"a {kinds[current.is_push]} consumer cannot become a {kinds[config.is_push]} consumer"
        yield ServerRefusal("deliver_subject", text, 10012)
        return
    for attribute, field, words, since in _FIXED:
        was, wanted = getattr(current, attribute), getattr(config, attribute)
        if was != wanted:
            yield ServerRefusal(field, f"{words} cannot be changed{_values(attribute, was, wanted)}", 10012, since)


def _values(attribute: str, was: object, wanted: object) -> str:
    return "" if attribute.endswith("_ns") else f" from {was!r} to {wanted!r}"
