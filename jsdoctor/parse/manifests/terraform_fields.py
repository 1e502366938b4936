"""Arguments of the resources of Terraform's provider nats-io/jetstream, with the values that it takes.

Bounds are those of its schema and of the JSON schemas of jsm.go, which it applies before it sends anything
(terraform-provider-jetstream: resource_*.go and validator.go).
"""

from __future__ import annotations

from jsdoctor.parse.manifests.fields import (
    Field,
    Read,
    anything,
    at_least,
    between,
    boolean,
    labels,
    number,
    one_of,
    seconds,
    text,
    texts,
)
from jsdoctor.parse.manifests.server_json import DISCARD, RETENTION, STORAGE
from jsdoctor.parse.manifests.tree import Tree

_LIMIT, _COUNT = at_least(-1), at_least(0)


def _duration(tree: Tree) -> int:
    """Seconds, not below zero."""
    _COUNT(tree)
    return seconds(tree)


def _share(tree: Tree) -> str:
    """A percentage as the server writes it."""
    return f"{between(0, 100)(tree)}%"


def _sequence(tree: Tree) -> int:
    """The provider makes an unsigned number of it."""
    return number(tree) % (1 << 64)


def _replicas(least: int) -> Read:
    return between(least, 5)


STREAM = {
    "name": Field("name", "name", text),
    "description": Field("description", "description", text),
    "subjects": Field("subjects", "subjects", texts),
    "retention": Field("retention", "retention", RETENTION),
    "storage": Field("storage", "storage", STORAGE),
    "compression": Field("compression", "compression", one_of("none", "s2")),
    "discard": Field("discard", "discard", DISCARD),
    "discard_new_per_subject": Field("discard_new_per_subject", "discard_new_per_subject", boolean),
    "max_age": Field("max_age_ns", "max_age", _duration),
    "duplicate_window": Field("duplicate_window_ns", "duplicate_window", _duration),
    "replicas": Field("num_replicas", "num_replicas", _replicas(0)),
    "metadata": Field("metadata", "metadata", labels),
    "ack": Field("ack", "no_ack", boolean),
    **{
        name: Field(name, name, boolean)
        for name in (
            *("deny_delete", "deny_purge", "allow_rollup_hdrs", "allow_direct", "allow_msg_ttl", "allow_msg_counter"),
            *("allow_atomic", "allow_msg_schedules", "allow_batched", "mirror_direct"),
        )
    },
    "subject_delete_marker_ttl": Field("subject_delete_marker_ttl_ns", "subject_delete_marker_ttl", _duration),
    "first_seq": Field("first_seq", "first_seq", _COUNT),
    "persist_mode": Field("persist_mode", "persist_mode", one_of("", "default", "async")),
    "inactive_threshold": Field("inactive_threshold_ns", "consumer_limits", seconds),
    "max_ack_pending": Field("max_ack_pending", "consumer_limits", number),
    "placement_cluster": Field("placement_cluster", "placement", text),
    "placement_tags": Field("placement_tags", "placement", texts),
    "placement_preferred": Field("placement_preferred", "placement", text),
    "republish_source": Field("republish_source", "republish", text),
    "republish_destination": Field("republish_destination", "republish", text),
    "republish_headers_only": Field("republish_headers_only", "republish", boolean),
    **{
        name: Field(name, name, _LIMIT)
        for name in ("max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size")
    },
}
BUCKET = {
    "name": Field("bucket", "name", text),
    "history": Field("history", "max_msgs_per_subject", between(0, 128)),
    "ttl": Field("ttl_ns", "max_age", _duration),
    "max_value_size": Field("max_value_size", "max_msg_size", _LIMIT),
    "max_bucket_size": Field("max_bytes", "max_bytes", _LIMIT),
    "storage": Field("storage", "storage", STORAGE),
    "replicas": Field("num_replicas", "num_replicas", _replicas(1)),
    "limit_marker_ttl": Field("", "subject_delete_marker_ttl", _duration),
}
CONSUMER = {
    "stream_id": Field("stream_id", "stream_name", text),
    "durable_name": Field("durable_name", "durable_name", text),
    "description": Field("description", "description", text),
    "ack_policy": Field("ack_policy", "ack_policy", one_of("explicit", "all", "none", "flow_control")),
    "ack_wait": Field("ack_wait_ns", "ack_wait", _duration),
    "backoff": Field("backoff_ns", "backoff", lambda tree: tuple(_duration(item) for item in tree.items())),
    "deliver_all": Field("deliver_all", "deliver_policy", boolean),
    "deliver_last": Field("deliver_last", "deliver_policy", boolean),
    "deliver_new": Field("deliver_new", "deliver_policy", boolean),
    "deliver_last_per_subject": Field("deliver_last_per_subject", "deliver_policy", boolean),
    "stream_sequence": Field("opt_start_seq", "opt_start_seq", _sequence),
    "start_time": Field("start_time", "opt_start_time", anything),
    "delivery_subject": Field("deliver_subject", "deliver_subject", text),
    "delivery_group": Field("deliver_group", "deliver_group", text),
    "filter_subject": Field("filter_subject", "filter_subject", text),
    "filter_subjects": Field("filter_subjects", "filter_subjects", texts),
    "max_delivery": Field("max_deliver", "max_deliver", number),
    "replay_policy": Field("replay_policy", "replay_policy", one_of("instant", "original")),
    "sample_freq": Field("sample_freq", "sample_freq", _share),
    "ratelimit": Field("rate_limit_bps", "rate_limit_bps", _COUNT),
    "heartbeat": Field("idle_heartbeat_ns", "idle_heartbeat", _duration),
    "flow_control": Field("flow_control", "flow_control", boolean),
    "max_waiting": Field("max_waiting", "max_waiting", _COUNT),
    "headers_only": Field("headers_only", "headers_only", boolean),
    "max_batch": Field("max_batch", "max_batch", _COUNT),
    "max_expires": Field("max_expires_ns", "max_expires", _duration),
    "max_bytes": Field("max_bytes", "max_bytes", _COUNT),
    "inactive_threshold": Field("inactive_threshold_ns", "inactive_threshold", _duration),
    "max_ack_pending": Field("max_ack_pending", "max_ack_pending", _LIMIT),
    "replicas": Field("num_replicas", "num_replicas", _replicas(0)),
    "memory": Field("mem_storage", "mem_storage", boolean),
    "metadata": Field("metadata", "metadata", labels),
    "priority_policy": Field(
        "priority_policy", "priority_policy", one_of("none", "overflow", "pinned_client", "prioritized")
    ),
    "priority_groups": Field("priority_groups", "priority_groups", texts),
    "priority_timeout": Field("priority_timeout_ns", "priority_timeout", _duration),
}
STARTS = ("deliver_all", "deliver_last", "deliver_new", "deliver_last_per_subject", "stream_sequence", "start_time")
"""Where a consumer starts: the provider takes exactly one of these."""

_META = ("id", "for_each", "count", "dynamic", "provider", "depends_on", "lifecycle", "provisioner", "connection")
BLOCKS = (*_META, "mirror", "source", "subject_transform", "timeouts")
"""Arguments and blocks of every resource of Terraform, and those of streams that are read apart."""
BUCKET_ONLY = ("description", "placement_cluster", "placement_tags", "compression")
REQUIRED = {
    "jetstream_stream": ("name",),
    "jetstream_consumer": ("stream_id", "durable_name"),
    "jetstream_kv_bucket": ("name",),
    "jetstream_obj_bucket": ("name",),
}
