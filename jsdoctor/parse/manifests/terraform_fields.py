"""Arguments of the resources of Terraform's provider nats-io/jetstream, with the values that it takes.

Bounds are those of its schema and of the JSON schemas of jsm.go, which it applies before it sends anything
(terraform-provider-jetstream: resource_*.go and validator.go).
"""

from __future__ import annotations

from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import Alias, FieldKind, FieldRow
from jsdoctor.parse.manifests.fields import (
    Field,
    Notation,
    Read,
    anything,
    at_least,
    between,
    boolean,
    listed,
    number,
    one_of,
    seconds,
    text,
)
from jsdoctor.parse.manifests.tree import Tree


def _duration(least: int = 0) -> Read:
    """Seconds, not below a bound."""
    count = at_least(least)
    return lambda tree: count(tree) and seconds(tree)


def _sequence(tree: Tree) -> int:
    """The provider makes an unsigned number of it."""
    return number(tree) % (1 << 64)


def _reader(row: FieldRow, key: Alias) -> Read:
    if row.kind is FieldKind.DURATION:
        return _duration(key.least or 0)
    if row.kind is FieldKind.DURATIONS:
        return listed(_duration())
    if key.least is None:
        return number if row.setting.signed else _sequence
    count = at_least(key.least) if key.most is None else between(key.least, key.most)
    return (lambda tree: f"{count(tree)}%") if row.kind is FieldKind.TEXT else count


_TERRAFORM = Notation(lambda row: row.setting.terraform, _reader)
STREAM = _TERRAFORM.table(StreamConfig)
BUCKET = {
    "name": Field("bucket", "name", text),
    "history": Field("history", "max_msgs_per_subject", between(0, 128)),
    "ttl": Field("ttl_ns", "max_age", _duration()),
    "max_value_size": Field("max_value_size", "max_msg_size", at_least(-1)),
    "max_bucket_size": Field("max_bytes", "max_bytes", at_least(-1)),
    "storage": Field("storage", "storage", one_of("file", "memory")),
    "replicas": Field("num_replicas", "num_replicas", between(1, 5)),
    "limit_marker_ttl": Field("", "subject_delete_marker_ttl", _duration()),
}
_STARTS = ("deliver_all", "deliver_last", "deliver_new", "deliver_last_per_subject")
CONSUMER = {
    "stream_id": Field("stream_id", "stream_name", text),
    **_TERRAFORM.table(ConsumerConfig),
    **{name: Field(name, "deliver_policy", boolean) for name in _STARTS},
    "start_time": Field("start_time", "opt_start_time", anything),
}
STARTS = (*_STARTS, "stream_sequence", "start_time")
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
