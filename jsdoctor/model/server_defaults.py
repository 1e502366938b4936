"""What a server makes of a configuration that leaves things out (server: checkStreamCfg, setConsumerConfigDefaults)."""

from __future__ import annotations

from msgspec.structs import replace

from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig

DEFAULT_WINDOW_NS = 120_000_000_000
"""Duplicate window of a stream that asks for none, or its `max_age` where that is shorter."""

DEFAULT_ACK_WAIT_NS = 30_000_000_000
DEFAULT_MAX_ACK_PENDING = 1000
DEFAULT_MAX_WAITING = 512

_LIMITS = ("max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size", "max_consumers")


def stream_as_stored(config: StreamConfig) -> StreamConfig:
    """With the server's defaults. A stream with sources gets no window from 2.14 on, and one of 2 minutes before."""
    changed: dict[str, object] = {name: -1 for name in _LIMITS if getattr(config, name) <= 0}
    if config.num_replicas == 0:
        changed["num_replicas"] = 1
    if config.duplicate_window_ns == 0 and not config.mirror and not config.sources:
        shorter = 0 < config.max_age_ns < DEFAULT_WINDOW_NS
        changed["duplicate_window_ns"] = config.max_age_ns if shorter else DEFAULT_WINDOW_NS
    if not config.subjects and not config.mirror and not config.sources:
        changed["subjects"] = (config.name,)
    if config.sealed:
        changed |= {"max_age_ns": 0, "discard": "new", "deny_delete": True, "deny_purge": True}
    return replace(config, **changed)


def consumer_as_stored(config: ConsumerConfig) -> ConsumerConfig:
    """With the server's defaults. The first step of a backoff takes the place of `ack_wait`."""
    changed: dict[str, object] = {}
    if config.max_deliver == 0 or config.max_deliver < -1:
        changed["max_deliver"] = -1
    if not config.deliver_subject and config.max_waiting == 0:
        changed["max_waiting"] = DEFAULT_MAX_WAITING
    if config.ack_wait_ns == 0 and config.ack_policy != "none":
        changed["ack_wait_ns"] = DEFAULT_ACK_WAIT_NS
    if config.backoff_ns:
        changed["ack_wait_ns"] = config.backoff_ns[0]
    if config.max_ack_pending == 0 and config.ack_policy != "none":
        changed["max_ack_pending"] = DEFAULT_MAX_ACK_PENDING
    if not config.name:
        changed["name"] = config.durable_name
    return replace(config, **changed)
