"""Stream and consumer configuration as the server's own JSON has it: what `nats stream|consumer add --config` takes."""

from __future__ import annotations

from typing import Any

from jsdoctor.model.jetstream import (
    ConsumerConfig,
    ConsumerLimits,
    ExternalStream,
    Placement,
    Republish,
    SourceConfig,
    StreamConfig,
    SubjectTransform,
)
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Mistake, Tool
from jsdoctor.parse.manifests.fields import (
    Field,
    Fields,
    anything,
    boolean,
    integer,
    labels,
    listed,
    moment,
    one_of,
    read_fields,
    text,
    texts,
)
from jsdoctor.parse.manifests.tree import Tree

_INT = integer()
_TRANSFORM = {"src": Field("src", "src", text), "dest": Field("dest", "dest", text)}
_EXTERNAL = {"api": Field("api", "api", text), "deliver": Field("deliver", "deliver", text)}
_PLACEMENT = {
    "cluster": Field("cluster", "cluster", text),
    "tags": Field("tags", "tags", texts),
    "preferred": Field("preferred", "preferred", text),
}
_REPUBLISH = _TRANSFORM | {"headers_only": Field("headers_only", "headers_only", boolean)}


def transform(tree: Tree) -> SubjectTransform:
    """A rewriting of subjects."""
    return SubjectTransform(**_inner(tree, read_fields(tree, _TRANSFORM, (), "a subject transform", ignore_case=True)))


def source(tree: Tree) -> SourceConfig:
    """A mirror or source."""
    return SourceConfig(**_inner(tree, read_fields(tree, _SOURCE, ("consumer",), "a source", ignore_case=True)))


def _external(tree: Tree) -> ExternalStream:
    return ExternalStream(**_inner(tree, read_fields(tree, _EXTERNAL, (), "an external stream", ignore_case=True)))


def _placement(tree: Tree) -> Placement:
    return Placement(**_inner(tree, read_fields(tree, _PLACEMENT, (), "a placement", ignore_case=True)))


def _republish(tree: Tree) -> Republish:
    return Republish(**_inner(tree, read_fields(tree, _REPUBLISH, (), "a republish", ignore_case=True)))


def _limits(tree: Tree) -> ConsumerLimits:
    return ConsumerLimits(**_inner(tree, read_fields(tree, _LIMITS, (), "consumer_limits", ignore_case=True)))


def _inner(tree: Tree, fields: Fields) -> dict[str, Any]:
    """The values of a nested mapping; its first mistake becomes one of the field that it belongs to."""
    if not isinstance(tree.value, dict):
        raise ValueError("a mapping is expected")
    if wrong := next((mistake.says for mistake in fields.mistakes if not mistake.ignored), ""):
        raise ValueError(wrong)
    return fields.values


_SOURCE = {
    "name": Field("name", "name", text),
    "opt_start_seq": Field("opt_start_seq", "opt_start_seq", integer(signed=False)),
    "opt_start_time": Field("opt_start_time", "opt_start_time", moment),
    "filter_subject": Field("filter_subject", "filter_subject", text),
    "external": Field("external", "external", _external),
    "subject_transforms": Field("subject_transforms", "subject_transforms", listed(transform)),
}
_LIMITS = {
    "inactive_threshold": Field("inactive_threshold_ns", "inactive_threshold", _INT),
    "max_ack_pending": Field("max_ack_pending", "max_ack_pending", _INT),
}

_DELIVER = one_of("all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject", "undefined")


def _deliver_policy(tree: Tree) -> str:
    """Servers read `undefined` as `all`."""
    policy: str = _DELIVER(tree)
    return "all" if policy == "undefined" else policy


RETENTION = one_of("limits", "interest", "workqueue")
STORAGE = one_of("file", "memory")
DISCARD = one_of("old", "new")

_STREAM = {
    "name": Field("name", "name", text),
    "subjects": Field("subjects", "subjects", texts),
    "retention": Field("retention", "retention", RETENTION),
    "storage": Field("storage", "storage", STORAGE),
    "discard": Field("discard", "discard", DISCARD),
    "max_age": Field("max_age_ns", "max_age", _INT),
    "duplicate_window": Field("duplicate_window_ns", "duplicate_window", _INT),
    "num_replicas": Field("num_replicas", "num_replicas", _INT),
    "mirror": Field("mirror", "mirror", source),
    "sources": Field("sources", "sources", listed(source)),
    "metadata": Field("metadata", "metadata", labels),
    "subject_transform": Field("subject_transform", "subject_transform", transform),
    "consumer_limits": Field("consumer_limits", "consumer_limits", _limits),
    **{name: Field(name, name, _INT) for name in ("max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject")},
    "max_msg_size": Field("max_msg_size", "max_msg_size", integer(bits=32)),
    **{
        name: Field(name, name, boolean)
        for name in (
            *("discard_new_per_subject", "no_ack", "sealed", "allow_direct", "mirror_direct", "deny_delete"),
            *("deny_purge", "allow_rollup_hdrs", "allow_msg_ttl", "allow_msg_counter", "allow_atomic"),
            *("allow_batched", "allow_msg_schedules"),
        )
    },
    "description": Field("description", "description", text),
    "subject_delete_marker_ttl": Field("subject_delete_marker_ttl_ns", "subject_delete_marker_ttl", _INT),
    "persist_mode": Field("persist_mode", "persist_mode", one_of("", "default", "async")),
    "compression": Field("compression", "compression", one_of("none", "s2")),
    "first_seq": Field("first_seq", "first_seq", integer(signed=False)),
    "placement": Field("placement", "placement", _placement),
    "republish": Field("republish", "republish", _republish),
}
_STREAM_UNJUDGED = ("template_owner", "$schema")

_CONSUMER = {
    "name": Field("name", "name", text),
    "durable_name": Field("durable_name", "durable_name", text),
    "description": Field("description", "description", text),
    "deliver_policy": Field(
        "deliver_policy",
        "deliver_policy",
        _deliver_policy,
    ),
    "opt_start_seq": Field("opt_start_seq", "opt_start_seq", integer(signed=False)),
    "opt_start_time": Field("opt_start_time", "opt_start_time", moment),
    "ack_policy": Field("ack_policy", "ack_policy", one_of("none", "all", "explicit", "flow_control")),
    "ack_wait": Field("ack_wait_ns", "ack_wait", _INT),
    "max_deliver": Field("max_deliver", "max_deliver", _INT),
    "backoff": Field("backoff_ns", "backoff", listed(_INT)),
    "filter_subject": Field("filter_subject", "filter_subject", text),
    "filter_subjects": Field("filter_subjects", "filter_subjects", texts),
    "replay_policy": Field("replay_policy", "replay_policy", one_of("instant", "original")),
    "max_waiting": Field("max_waiting", "max_waiting", _INT),
    "max_ack_pending": Field("max_ack_pending", "max_ack_pending", _INT),
    "flow_control": Field("flow_control", "flow_control", boolean),
    "idle_heartbeat": Field("idle_heartbeat_ns", "idle_heartbeat", _INT),
    "headers_only": Field("headers_only", "headers_only", boolean),
    "deliver_subject": Field("deliver_subject", "deliver_subject", text),
    "deliver_group": Field("deliver_group", "deliver_group", text),
    "inactive_threshold": Field("inactive_threshold_ns", "inactive_threshold", _INT),
    "num_replicas": Field("num_replicas", "num_replicas", _INT),
    "mem_storage": Field("mem_storage", "mem_storage", boolean),
    "priority_policy": Field(
        "priority_policy", "priority_policy", one_of("none", "overflow", "pinned_client", "prioritized")
    ),
    "priority_groups": Field("priority_groups", "priority_groups", texts),
    "rate_limit_bps": Field("rate_limit_bps", "rate_limit_bps", integer(signed=False)),
    "metadata": Field("metadata", "metadata", labels),
    "sample_freq": Field("sample_freq", "sample_freq", text),
    "direct": Field("direct", "direct", boolean),
    "max_batch": Field("max_batch", "max_batch", _INT),
    "max_expires": Field("max_expires_ns", "max_expires", _INT),
    "max_bytes": Field("max_bytes", "max_bytes", _INT),
    "pause_until": Field("pause_until", "pause_until", moment),
    "priority_timeout": Field("priority_timeout_ns", "priority_timeout", _INT),
    "stream_name": Field("", "stream_name", anything),
}
_CONSUMER_UNJUDGED = ("stream_name", "$schema")


def is_stream(tree: Tree) -> bool:
    """Whether this mapping is a stream's configuration: it has a name, and a setting that only streams have."""
    by_key = {key.lower(): child.value for key, child in tree.entries()}
    if "name" not in by_key:
        return False
    copies = (by_key.get("mirror"), *(item.value for item in _elements(by_key.get("sources"))))
    return (
        isinstance(by_key.get("subjects"), list)
        or by_key.get("retention") in ("limits", "interest", "workqueue")
        or by_key.get("storage") in ("file", "memory")
        or any(isinstance(copy, dict) and "name" in copy for copy in copies)
    )


def is_consumer(tree: Tree) -> bool:
    """Whether this mapping is a consumer's configuration."""
    return bool({key.lower() for key, _ in tree.entries()} & {"durable_name", "deliver_policy", "ack_policy"})


def _elements(value: object) -> list[Tree]:
    return [item for item in value if isinstance(item, Tree)] if isinstance(value, list) else []


def declared_stream(tree: Tree) -> DeclaredStream:
    """A stream. What is left out is sent as zero, and the server makes its default of it."""
    fields = read_fields(tree, _STREAM, _STREAM_UNJUDGED, "a stream", ignore_case=True)
    return DeclaredStream(
        tool=Tool.NATS_CLI,
        what="stream configuration",
        place=fields.places.get("name", tree.place),
        config=StreamConfig(**fields.values),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=tuple(fields.mistakes),
    )


def declared_consumer(tree: Tree, stream: str) -> DeclaredConsumer:
    """A consumer. Without an acknowledgement policy it gets `none`, which is zero to the server."""
    fields = read_fields(tree, _CONSUMER, _CONSUMER_UNJUDGED, "a consumer", ignore_case=True)
    values = {"ack_policy": "none"} | fields.values
    values.pop("stream_name", None)
    mistakes = list(fields.mistakes)
    if not values.get("durable_name") and not values.get("name"):
        place = fields.places.get("ack_policy", tree.place)
        mistakes.append(
            Mistake(place, "it has no durable_name, and the server makes a name up each time", ignored=True)
        )
    return DeclaredConsumer(
        tool=Tool.NATS_CLI,
        what="consumer configuration",
        place=fields.places.get("durable_name", fields.places.get("name", tree.place)),
        stream=stream,
        config=ConsumerConfig(**values),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=tuple(mistakes),
    )
