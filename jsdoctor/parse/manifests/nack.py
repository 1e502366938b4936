"""Custom resources of NACK (jetstream.nats.io/v1beta2) to what the controller sends (nack: deploy/crds.yml,
internal/controller/*_controller.go).

The defaults of the resource definitions are applied by Kubernetes before the controller sees anything, and are not
those of the server: streams are kept in memory, consumers acknowledge nothing, and `ackWait` is one nanosecond.
"""

from __future__ import annotations

from typing import Any

from jsdoctor.model.jetstream import (
    ConsumerConfig,
    ConsumerLimits,
    ExternalStream,
    SourceConfig,
    StreamConfig,
    SubjectTransform,
)
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, FilePosition, Mistake, Tool
from jsdoctor.parse.manifests.fields import (
    Field,
    Fields,
    anything,
    at_least,
    boolean,
    durations,
    go_duration,
    labels,
    moment,
    number,
    one_of,
    read_fields,
    text,
    texts,
)
from jsdoctor.parse.manifests.server_json import DISCARD, RETENTION, STORAGE
from jsdoctor.parse.manifests.tree import Tree

OF_EVERY_RESOURCE = (
    *("account", "creds", "nkey", "preventDelete", "preventUpdate", "servers", "tls", "tlsFirst", "jsDomain"),
    "description",
)


def transform(tree: Tree) -> SubjectTransform:
    """A rewriting of subjects."""
    return SubjectTransform(src=tree.text("source"), dest=tree.text("dest"))


def source(tree: Tree) -> SourceConfig:
    """A mirror or source."""
    fields = read_fields(tree, _SOURCE, ("externalApiPrefix", "externalDeliverPrefix"), "a source")
    if fields.mistakes:
        raise ValueError(fields.mistakes[0].says)
    api = tree.text("externalApiPrefix")
    external = ExternalStream(api=api, deliver=tree.text("externalDeliverPrefix")) if api else None
    return SourceConfig(**fields.values, external=external)


def sources(tree: Tree) -> tuple[SourceConfig, ...]:
    """A list of sources."""
    return tuple(source(item) for item in tree.items())


def _transforms(tree: Tree) -> tuple[SubjectTransform, ...]:
    return tuple(transform(item) for item in tree.items())


def _consumer_limits(tree: Tree) -> ConsumerLimits:
    threshold, most = tree.get("inactiveThreshold"), tree.get("maxAckPending")
    return ConsumerLimits(
        inactive_threshold_ns=go_duration(threshold) if threshold else 0, max_ack_pending=number(most) if most else 0
    )


_SOURCE = {
    "name": Field("name", "name", text),
    "optStartSeq": Field("opt_start_seq", "opt_start_seq", number),
    "optStartTime": Field("opt_start_time", "opt_start_time", moment),
    "filterSubject": Field("filter_subject", "filter_subject", text),
    "subjectTransforms": Field("subject_transforms", "subject_transforms", _transforms),
}
_LIMIT = at_least(-1)

_STREAM = {
    "name": Field("name", "name", text),
    "subjects": Field("subjects", "subjects", texts),
    "retention": Field("retention", "retention", RETENTION),
    "maxConsumers": Field("max_consumers", "max_consumers", _LIMIT),
    "maxMsgs": Field("max_msgs", "max_msgs", _LIMIT),
    "maxBytes": Field("max_bytes", "max_bytes", _LIMIT),
    "discard": Field("discard", "discard", DISCARD),
    "discardPerSubject": Field("discard_new_per_subject", "discard_new_per_subject", boolean),
    "maxAge": Field("max_age_ns", "max_age", go_duration),
    "maxMsgsPerSubject": Field("max_msgs_per_subject", "max_msgs_per_subject", number),
    "maxMsgSize": Field("max_msg_size", "max_msg_size", _LIMIT),
    "storage": Field("storage", "storage", STORAGE),
    "replicas": Field("num_replicas", "num_replicas", at_least(1)),
    "noAck": Field("no_ack", "no_ack", boolean),
    "duplicateWindow": Field("duplicate_window_ns", "duplicate_window", go_duration),
    "mirror": Field("mirror", "mirror", source),
    "sources": Field("sources", "sources", sources),
    "sealed": Field("sealed", "sealed", boolean),
    "denyDelete": Field("deny_delete", "deny_delete", boolean),
    "denyPurge": Field("deny_purge", "deny_purge", boolean),
    "allowRollup": Field("allow_rollup_hdrs", "allow_rollup_hdrs", boolean),
    "allowDirect": Field("allow_direct", "allow_direct", boolean),
    "allowMsgTtl": Field("allow_msg_ttl", "allow_msg_ttl", boolean),
    "subjectTransform": Field("subject_transform", "subject_transform", transform),
    "consumerLimits": Field("consumer_limits", "consumer_limits", _consumer_limits),
    "metadata": Field("metadata", "metadata", labels),
}
_STREAM_UNJUDGED = (
    *("placement", "compression", "firstSequence", "republish", "mirrorDirect", "subjectDeleteMarkerTtl"),
    *("allowMsgCounter", "allowAtomicPublish", "allowMsgSchedules", "persistMode"),
    *OF_EVERY_RESOURCE,
)
_STREAM_DEFAULTS = {"storage": "memory"}
_SET_ONLY_WHEN_GIVEN = frozenset(
    {
        *("max_age_ns", "max_msgs_per_subject", "duplicate_window_ns", "no_ack", "mirror", "sources", "sealed"),
        *("deny_delete", "deny_purge", "allow_rollup_hdrs", "allow_direct", "discard_new_per_subject"),
        *("allow_msg_ttl", "subject_transform"),
    }
)
"""Options that the controller adds to the update only for a value, so that an update does not take them back."""

_CONSUMER = {
    "durableName": Field("durable_name", "durable_name", text),
    "deliverPolicy": Field(
        "deliver_policy",
        "deliver_policy",
        one_of("all", "last", "new", "byStartSequence", "byStartTime", "lastPerSubject"),
    ),
    "optStartSeq": Field("opt_start_seq", "opt_start_seq", at_least(0)),
    "optStartTime": Field("opt_start_time", "opt_start_time", moment),
    "deliverSubject": Field("deliver_subject", "deliver_subject", text),
    "ackPolicy": Field("ack_policy", "ack_policy", one_of("none", "all", "explicit")),
    "ackWait": Field("ack_wait_ns", "ack_wait", go_duration),
    "maxDeliver": Field("max_deliver", "max_deliver", _LIMIT),
    "backoff": Field("backoff_ns", "backoff", durations),
    "filterSubject": Field("filter_subject", "filter_subject", text),
    "filterSubjects": Field("filter_subjects", "filter_subjects", texts),
    "replayPolicy": Field("replay_policy", "replay_policy", one_of("instant", "original")),
    "maxWaiting": Field("max_waiting", "max_waiting", number),
    "rateLimitBps": Field("rate_limit_bps", "rate_limit_bps", number),
    "maxAckPending": Field("max_ack_pending", "max_ack_pending", number),
    "deliverGroup": Field("deliver_group", "deliver_group", text),
    "flowControl": Field("flow_control", "flow_control", boolean),
    "headersOnly": Field("headers_only", "headers_only", boolean),
    "heartbeatInterval": Field("idle_heartbeat_ns", "idle_heartbeat", go_duration),
    "inactiveThreshold": Field("inactive_threshold_ns", "inactive_threshold", go_duration),
    "priorityPolicy": Field("priority_policy", "priority_policy", text),
    "priorityGroups": Field("priority_groups", "priority_groups", texts),
    "replicas": Field("num_replicas", "num_replicas", number),
    "memStorage": Field("mem_storage", "mem_storage", boolean),
    "metadata": Field("metadata", "metadata", labels),
    "streamName": Field("", "stream_name", anything),
}
_CONSUMER_UNJUDGED = (
    *("sampleFreq", "maxRequestBatch", "maxRequestExpires", "maxRequestMaxBytes", "pauseUntil", "pinnedTtl"),
    *("streamName", *OF_EVERY_RESOURCE),
)
_CONSUMER_DEFAULTS = {"ack_policy": "none", "ack_wait_ns": 1}
_POLICIES = {
    "byStartSequence": "by_start_sequence",
    "byStartTime": "by_start_time",
    "lastPerSubject": "last_per_subject",
}


def stream(resource: Tree, spec: Tree) -> DeclaredStream:
    """A Stream."""
    fields = read_fields(spec, _STREAM, _STREAM_UNJUDGED, "a Stream")
    return DeclaredStream(
        tool=Tool.NACK,
        what="Stream",
        place=place_of(resource, fields, "name"),
        config=StreamConfig(**(_STREAM_DEFAULTS | fields.values)),
        account=spec.text("account"),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=tuple(fields.mistakes + missing(fields, "name", resource, "spec.name")),
        kept_when_unset=_SET_ONLY_WHEN_GIVEN,
        may_update=not _is_true(spec, "preventUpdate"),
    )


def consumer(resource: Tree, spec: Tree) -> DeclaredConsumer:
    """A Consumer."""
    fields = read_fields(spec, _CONSUMER, _CONSUMER_UNJUDGED, "a Consumer")
    values: dict[str, Any] = _CONSUMER_DEFAULTS | fields.values
    values.pop("streamName", None)
    policy = values.get("deliver_policy", "all")
    values["deliver_policy"] = _POLICIES.get(policy, policy)
    if values["ack_policy"] == "none" and "ack_wait" not in fields.places:
        values["ack_wait_ns"] = 0
    mistakes = fields.mistakes + missing(fields, "durable_name", resource, "spec.durableName")
    mistakes += missing(fields, "stream_name", resource, "spec.streamName")
    return DeclaredConsumer(
        tool=Tool.NACK,
        what="Consumer",
        place=place_of(resource, fields, "durable_name"),
        stream=spec.text("streamName"),
        config=ConsumerConfig(**values),
        account=spec.text("account"),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=tuple(mistakes),
        may_update=not _is_true(spec, "preventUpdate"),
    )


def place_of(resource: Tree, fields: Fields, name: str) -> FilePosition:
    """Where a resource is named, else where it begins."""
    return fields.places.get(name, resource.place)


def missing(fields: Fields, name: str, resource: Tree, path: str) -> list[Mistake]:
    """A mistake when a field without which nothing can be made is not there."""
    return [] if name in fields.places else [Mistake(resource.place, f"{path} is missing")]


def _is_true(spec: Tree, key: str) -> bool:
    node = spec.get(key)
    return node is not None and node.value is True
