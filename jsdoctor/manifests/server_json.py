"""Stream and consumer configuration as the server's own JSON has it: what `nats stream|consumer add --config` takes."""

from __future__ import annotations

from jsdoctor.manifests.fields import Field, Notation, Read, anything, integer, listed, made, read_fields
from jsdoctor.manifests.tree import Tree
from jsdoctor.model.jetstream import ConsumerConfig, SourceConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Mistake, Tool
from jsdoctor.model.setting import Alias, FieldKind, FieldRow


def _reader(row: FieldRow, _: Alias) -> Read:
    number = integer(row.setting.bits, row.setting.signed)
    return listed(number) if row.kind is FieldKind.DURATIONS else number


_JSON = Notation(lambda row: row.name, _reader, {SourceConfig: ("consumer",)}, is_json=True)
_STREAM = _JSON.table(StreamConfig)
_STREAM_UNJUDGED = ("template_owner", "$schema")
_CONSUMER = _JSON.table(ConsumerConfig) | {"stream_name": Field("", "stream_name", anything)}
_CONSUMER_UNJUDGED = ("$schema",)


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
        config=made(StreamConfig, fields.values),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=tuple(fields.mistakes),
    )


def declared_consumer(tree: Tree, stream: str) -> DeclaredConsumer:
    """A consumer. Without an acknowledgement policy it gets `none`, which is zero to the server."""
    fields = read_fields(tree, _CONSUMER, _CONSUMER_UNJUDGED, "a consumer", ignore_case=True)
    values = {"ack_policy": "none"} | fields.values
    values.pop("stream_name", None)
    if values.get("deliver_policy") == "undefined":
        values["deliver_policy"] = "all"
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
        config=made(ConsumerConfig, values),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=tuple(mistakes),
    )
