"""Defaults that a server adds to a configuration (server: checkStreamCfg, setConsumerConfigDefaults)."""

from __future__ import annotations

from msgspec.structs import replace

from jsdoctor.model.jetstream import ConsumerConfig, ConsumerLimits, Placement, StreamConfig
from jsdoctor.model.setting import rows

DEFAULT_WINDOW_NS = 120_000_000_000
"""Duplicate window of a stream that sets none, or its `max_age` if that is shorter."""

DEFAULT_ACK_WAIT_NS = 30_000_000_000
DEFAULT_MAX_ACK_PENDING = 1000
DEFAULT_MAX_WAITING = 512
DEFAULT_PINNED_NS = 120_000_000_000

_NO_SOURCE_WINDOW_SINCE = (2, 14)
"""First release that gives a stream with sources no duplicate window of its own."""

_NEGATIVE_IS_NONE_SINCE = (2, 11)
"""First release that reads every negative limit of a stream as none; older ones only zero."""

_HEARTBEAT_NS = 1_000_000_000
"""Heartbeat that goes with acknowledgements by flow control."""


def stream_as_checked(config: StreamConfig, release: tuple[int, ...] = ()) -> StreamConfig:
    """The configuration with the defaults that a server sets before validation; without `release`, of a current one."""
    old = bool(release) and release < _NEGATIVE_IS_NONE_SINCE
    changed: dict[str, object] = {
        row.attribute: -1
        for row in rows(StreamConfig)
        if row.setting.limit == -1 and ((value := getattr(config, row.attribute)) == 0 or (value < 0 and not old))
    }
    if config.num_replicas == 0:
        changed["num_replicas"] = 1
    has_no_window = bool(config.sources) and not (release and release < _NO_SOURCE_WINDOW_SINCE)
    if config.duplicate_window_ns == 0 and not config.mirror and not has_no_window:
        shorter = 0 < config.max_age_ns < DEFAULT_WINDOW_NS
        changed["duplicate_window_ns"] = config.max_age_ns if shorter else DEFAULT_WINDOW_NS
    if not config.subjects and not config.mirror and not config.sources:
        changed["subjects"] = (config.name,)
    has_delete_markers = config.subject_delete_marker_ttl_ns > 0 and not old
    if has_delete_markers:
        changed["allow_msg_ttl"] = True
    if not config.allow_rollup_hdrs and (has_delete_markers or (config.allow_msg_schedules and not old)):
        changed |= {"allow_rollup_hdrs": True, "deny_purge": False}
    if config.placement == Placement():
        changed["placement"] = None
    return replace(config, **changed)


def stream_as_stored(config: StreamConfig, release: tuple[int, ...] = ()) -> StreamConfig:
    """The configuration as a server of `release` stores it: with its defaults, and as sealing changes it."""
    checked = stream_as_checked(config, release)
    if not config.sealed:
        return checked
    locked = {"max_age_ns": 0, "discard": "new", "deny_delete": True, "deny_purge": True, "allow_rollup_hdrs": False}
    return replace(checked, **locked)


def consumer_as_stored(
    config: ConsumerConfig, limits: ConsumerLimits | None = None, release: tuple[int, ...] = ()
) -> ConsumerConfig:
    """The configuration as a server of `release` stores it: with its defaults and those of the stream's `limits`.
    The first step of a backoff takes the place of `ack_wait`.
    """
    stream_limits = limits or ConsumerLimits()
    old = bool(release) and release < _NEGATIVE_IS_NONE_SINCE
    config = _without_negatives(config, old)
    changed: dict[str, object] = {}
    if not config.deliver_subject and config.max_waiting == 0:
        changed["max_waiting"] = DEFAULT_MAX_WAITING
    if config.backoff_ns:
        changed["ack_wait_ns"] = config.backoff_ns[0]
    elif config.ack_wait_ns == 0 and config.ack_policy in ("explicit", "all"):
        changed["ack_wait_ns"] = DEFAULT_ACK_WAIT_NS
    if config.max_ack_pending == 0:
        default = 0 if config.ack_policy == "none" else DEFAULT_MAX_ACK_PENDING
        changed["max_ack_pending"] = stream_limits.max_ack_pending or default
    if config.inactive_threshold_ns == 0:
        changed["inactive_threshold_ns"] = stream_limits.inactive_threshold_ns
    if config.priority_policy == "pinned_client" and config.priority_timeout_ns == 0:
        changed["priority_timeout_ns"] = DEFAULT_PINNED_NS
    if config.ack_policy == "flow_control":
        changed |= {"flow_control": True, "idle_heartbeat_ns": _HEARTBEAT_NS}
    if not config.name:
        changed["name"] = config.durable_name
    return replace(config, **changed)


def _without_negatives(config: ConsumerConfig, old: bool) -> ConsumerConfig:
    """With numbers as a server reads them: `max_deliver` 0 is none; unless `old`, negative numbers are, too."""
    changed: dict[str, object] = {"max_deliver": -1} if config.max_deliver == 0 else {}
    if not old:
        for row in rows(ConsumerConfig):
            if row.negative is not None and getattr(config, row.attribute) < row.negative:
                changed[row.attribute] = row.negative
    return replace(config, **changed)
