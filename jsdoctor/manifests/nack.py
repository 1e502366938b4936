"""Custom resources of NACK (jetstream.nats.io/v1beta2) to what the controller sends (nack: deploy/crds.yml,
internal/controller/*_controller.go).

The defaults of the resource definitions are applied by Kubernetes before the controller sees anything, and are not
those of the server: streams are kept in memory, consumers acknowledge nothing, and `ackWait` is one nanosecond.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from jsdoctor.manifests.fields import (
    Field,
    Fields,
    Notation,
    anything,
    at_least,
    go_duration,
    listed,
    made,
    number,
    read_fields,
)
from jsdoctor.manifests.tree import Tree
from jsdoctor.model.jetstream import ConsumerConfig, SourceConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, FilePosition, Mistake, Tool
from jsdoctor.model.setting import FieldKind

OF_EVERY_RESOURCE = (
    *("account", "creds", "nkey", "preventDelete", "preventUpdate", "servers", "tls", "tlsFirst", "jsDomain"),
    "description",
)
_DURATIONS = {FieldKind.DURATION: go_duration, FieldKind.DURATIONS: listed(go_duration)}


_NACK = Notation(
    lambda row: row.setting.nack,
    lambda row, key: _DURATIONS.get(row.kind) or (number if key.least is None else at_least(key.least)),
)


def source(tree: Tree) -> SourceConfig:
    """A mirror or source."""
    config: SourceConfig = _SOURCE(tree)
    return config if config.external is None or config.external.api else replace(config, external=None)


_SOURCE = _NACK.mapping(SourceConfig)
sources = listed(source)
_STREAM = _NACK.table(StreamConfig)
_STREAM |= {"mirror": Field("mirror", "mirror", source), "sources": Field("sources", "sources", sources)}
_STREAM_DEFAULTS = {"storage": "memory"}
_ALWAYS_SENT = frozenset(
    {
        *("name", "subjects", "retention", "max_consumers", "max_msgs", "max_bytes", "discard", "max_msg_size"),
        *("storage", "num_replicas", "consumer_limits", "metadata"),
    }
)
"""Options that the controller puts into each update; an update does not take back the others."""
_KEPT_WHEN_UNSET = frozenset(field.attribute for field in _STREAM.values() if field.read) - _ALWAYS_SENT

_CONSUMER = _NACK.table(ConsumerConfig) | {"streamName": Field("", "stream_name", anything)}
_CONSUMER_DEFAULTS = {"ack_policy": "none", "ack_wait_ns": 1}


def stream(resource: Tree, spec: Tree) -> DeclaredStream:
    """A Stream."""
    fields = read_fields(spec, _STREAM, OF_EVERY_RESOURCE, "a Stream")
    return DeclaredStream(
        tool=Tool.NACK,
        what="Stream",
        place=place_of(resource, fields, "name"),
        config=made(StreamConfig, _STREAM_DEFAULTS | fields.values),
        account=spec.text("account"),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=tuple(fields.mistakes + missing(fields, "name", resource, "spec.name")),
        kept_when_unset=_KEPT_WHEN_UNSET,
        may_update=not _is_true(spec, "preventUpdate"),
    )


def consumer(resource: Tree, spec: Tree) -> DeclaredConsumer:
    """A Consumer."""
    fields = read_fields(spec, _CONSUMER, OF_EVERY_RESOURCE, "a Consumer")
    values: dict[str, Any] = _CONSUMER_DEFAULTS | fields.values
    values.pop("streamName", None)
    values["deliver_policy"] = re.sub(
        r"[A-Z]", lambda match: f"_{match[0].lower()}", values.get("deliver_policy", "all")
    )
    if values["ack_policy"] == "none" and "ack_wait" not in fields.places:
        values["ack_wait_ns"] = 0
    mistakes = fields.mistakes + missing(fields, "durable_name", resource, "spec.durableName")
    mistakes += missing(fields, "stream_name", resource, "spec.streamName")
    return DeclaredConsumer(
        tool=Tool.NACK,
        what="Consumer",
        place=place_of(resource, fields, "durable_name"),
        stream=spec.text("streamName"),
        config=made(ConsumerConfig, values),
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
