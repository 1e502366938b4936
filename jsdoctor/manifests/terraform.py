"""Terraform plans (`terraform show -json PLAN`) and configurations with resources of the provider nats-io/jetstream.

Bounds are those of its schema and of the JSON schemas of jsm.go, which it applies before it sends anything
(terraform-provider-jetstream: resource_*.go and validator.go).

A plan holds what each resource will be, defaults of the provider included, and what happens to it: a change of a name,
of the storage or of a mirror is a replacement, which deletes the stream with all its messages. Times are in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from jsdoctor.manifests.buckets import key_value, object_store
from jsdoctor.manifests.fields import (
    Field,
    Fields,
    Notation,
    Read,
    anything,
    at_least,
    between,
    boolean,
    listed,
    made,
    moment,
    number,
    one_of,
    read_fields,
    seconds,
    text,
)
from jsdoctor.manifests.tree import Tree, Variable
from jsdoctor.model.jetstream import ConsumerConfig, ExternalStream, SourceConfig, StreamConfig, SubjectTransform
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, FilePosition, Mistake, PlannedAction, Tool
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.setting import Alias, FieldKind, FieldRow


def _duration(least: int = 0) -> Read:
    """A reader of seconds, which refuses numbers below `least`. It returns nanoseconds."""
    count = at_least(least)
    return lambda tree: count(tree) and seconds(tree)


def _reader_of(row: FieldRow, key: Alias) -> Read:
    if row.kind is FieldKind.DURATION:
        return _duration(key.least or 0)
    if row.kind is FieldKind.DURATIONS:
        return listed(_duration())
    if key.least is None:
        # The provider makes an unsigned number of it.
        return number if row.setting.signed else lambda tree: number(tree) % (1 << 64)
    count = at_least(key.least) if key.most is None else between(key.least, key.most)
    return (lambda tree: f"{count(tree)}%") if row.kind is FieldKind.TEXT else count


_TERRAFORM = Notation(lambda row: row.setting.terraform, _reader_of)
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
_START_FLAGS = ("deliver_all", "deliver_last", "deliver_new", "deliver_last_per_subject")
CONSUMER = {
    "stream_id": Field("stream_id", "stream_name", text),
    **_TERRAFORM.table(ConsumerConfig),
    **{name: Field(name, "deliver_policy", boolean) for name in _START_FLAGS},
    "start_time": Field("start_time", "opt_start_time", anything),
}
STARTS = (*_START_FLAGS, "stream_sequence", "start_time")
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


def argument_mistakes(
    kind: str, body: Tree, unknown: Collection[str], table: Collection[str], place: FilePosition
) -> Iterator[Mistake]:
    """Arguments that are missing, that exclude each other, or that the resource does not have.

    `unknown`: arguments whose values are expressions. An argument set to null counts as left out.
    """
    stated = {key for key, node in body.entries() if node.value is not None} | set(unknown)
    known = {*table, *BLOCKS, *(BUCKET_ONLY if kind.endswith("_bucket") else ())}
    for key, node in body.entries():
        if key not in known:
            near = did_you_mean(key, known)
            later = "" if near else "; a newer provider may know it"
            yield Mistake(node.place, f"{kind} has no argument {key!r}{near}{later}", unsure=not near)
    for key in REQUIRED[kind]:
        if key not in stated or any(name == key and node.value == "" for name, node in body.entries()):
            yield Mistake(place, f"{key} is required and must not be empty")
    if kind == "jetstream_consumer":
        yield from _start_mistakes(sorted(stated & set(STARTS), key=STARTS.index), place)
    elif kind == "jetstream_stream" and not stated & {"subjects", "mirror", "source", "dynamic"}:
        yield Mistake(place, "subjects are required for a stream without mirror and sources")


def _start_mistakes(stated: list[str], place: FilePosition) -> Iterator[Mistake]:
    if not stated:
        yield Mistake(place, f"one of {', '.join(STARTS)} is required")
    elif len(stated) > 1:
        yield Mistake(place, f"only one of {', '.join(stated)} may be set")


_NOT_CONFIGURED = (*_START_FLAGS, "start_time", "stream_id")
"""Arguments of a consumer that are no fields of its configuration."""
KINDS = ("jetstream_stream", "jetstream_consumer", "jetstream_kv_bucket", "jetstream_obj_bucket")


_TABLES: dict[str, dict[str, Field]] = {
    "jetstream_stream": STREAM,
    "jetstream_consumer": CONSUMER,
    "jetstream_kv_bucket": BUCKET,
    "jetstream_obj_bucket": BUCKET,
}
_FROM_PLANS = {"name", "durable_name", "for_each", "count", "dynamic"}
"""Keys of a configuration whose values decide which assets there will be."""

_REFERENCE = re.compile(r"\s*(jetstream_stream\.[\w-]+)\.(?:id|name)\s*")
_DEFAULTS: dict[str, dict[str, int | str | bool]] = {
    "jetstream_stream": {"duplicate_window": 120, "storage": "file", "allow_direct": True},
    "jetstream_consumer": {"ack_policy": "explicit", "ack_wait": 30, "max_ack_pending": 20_000},
    "jetstream_kv_bucket": {"history": 5},
    "jetstream_obj_bucket": {},
}
"""What the provider sends for what the configuration leaves out, where that is not the server's own default."""


class _Planned(NamedTuple):
    """A resource of a plan or configuration. `stated`: arguments that the configuration sets (None: not known).

    `unknown`: arguments whose values are not known yet. `refused`: arguments that the provider refuses.
    """

    kind: str
    address: str
    values: Tree
    place: FilePosition
    planned_action: PlannedAction
    stated: frozenset[str] | None
    unknown: frozenset[str]
    refused: tuple[Mistake, ...] = ()


def is_plan(tree: Tree) -> bool:
    """Whether this is a plan as `terraform show -json` writes it."""
    return tree.get("format_version") is not None and tree.get("resource_changes") is not None


def declared(tree: Tree) -> tuple[list[DeclaredStream], list[DeclaredConsumer]]:
    """The streams, buckets and consumers of a plan."""
    configured = dict(_configured(tree.get("configuration", "root_module"), ""))
    planned = [_planned(change, configured) for change in (tree.get("resource_changes") or tree).items()]
    known = [entry for entry in planned if entry is not None]
    names = {entry.address: entry.values.text("name") for entry in known}
    streams = [_stream(entry) for entry in known if entry.kind != "jetstream_consumer"]
    consumers = [_consumer(entry, names, configured) for entry in known if entry.kind == "jetstream_consumer"]
    return streams, consumers


def declared_in_configuration(
    tree: Tree,
) -> tuple[list[DeclaredStream], list[DeclaredConsumer], list[tuple[str, FilePosition]]]:
    """The streams, buckets and consumers of a `.tf` file, and those that only a plan shows, each with its place.

    What the file leaves out gets the provider's default; what depends on anything else is not known.
    """
    result = list(_resources(tree))
    known = [entry for entry in result if not entry.unknown & _FROM_PLANS]
    problems = [
        (f"{entry.address}: only a plan shows its name or number: give terraform show -json PLAN", entry.place)
        for entry in result
        if entry.unknown & _FROM_PLANS
    ]
    names = {entry.address: entry.values.text("name") for entry in known}
    streams = [_stream(entry) for entry in known if entry.kind != "jetstream_consumer"]
    consumers = [_consumer(entry, names, {}) for entry in known if entry.kind == "jetstream_consumer"]
    return streams, consumers, problems


def _resources(tree: Tree) -> Iterator[_Planned]:
    for block in _blocks(tree, "resource"):
        for kind, named in block.entries():
            if kind not in KINDS:
                continue
            for name, body in named.entries():
                known = {key: node for key, node in body.entries() if not _is_computed(node)}
                unknown = frozenset(key for key, node in body.entries() if key not in known)
                if reference := _stream_reference(body.get("stream_id")):
                    known["stream_id"] = Tree(reference, body.place)
                stated = frozenset(known)
                known = {key: Tree(value, body.place) for key, value in _DEFAULTS[kind].items()} | known
                errors = tuple(argument_mistakes(kind, body, unknown, _TABLES[kind], body.place))
                values = Tree(known, body.place)
                yield _Planned(kind, f"{kind}.{name}", values, body.place, PlannedAction.KEPT, stated, unknown, errors)


def _is_computed(node: Tree) -> bool:
    """Whether a value is, or contains, an expression."""
    if isinstance(node.value, Variable):
        return True
    return any(_is_computed(child) for _, child in node.entries()) or any(_is_computed(item) for item in node.items())


def _stream_reference(node: Tree | None) -> str:
    """The address of the stream in `stream_id = jetstream_stream.X.id`."""
    match = _REFERENCE.fullmatch(node.value.name) if node is not None and isinstance(node.value, Variable) else None
    return match[1] if match else ""


def _planned(change: Tree, configured: dict[str, Tree]) -> _Planned | None:
    kind, address = change.text("type"), change.text("address")
    actions = {str(action.value) for action in (change.get("change", "actions") or change).items()}
    planned_action = PlannedAction.KEPT
    if "delete" in actions:
        planned_action = PlannedAction.REPLACED if "create" in actions else PlannedAction.DELETED
    values = change.get("change", "before" if planned_action is PlannedAction.DELETED else "after")
    if kind not in KINDS or change.text("mode") == "data" or values is None:
        return None
    written = configured.get(_unindexed(address))
    expressions = written.get("expressions") if written else None
    stated = frozenset(key for key, _ in expressions.entries()) if expressions else None
    unknown = change.get("change", "after_unknown")
    after = frozenset(key for key, node in unknown.entries() if node.value is True) if unknown else frozenset()
    return _Planned(kind, address, values, change.place, planned_action, stated, after)


def _configured(module: Tree | None, prefix: str) -> list[tuple[str, Tree]]:
    """The configuration of each resource, by address without indexes."""
    if module is None:
        return []
    configured = [(prefix + tree.text("address"), tree) for tree in (module.get("resources") or module).items()]
    calls = module.get("module_calls")
    for name, call in calls.entries() if calls else ():
        configured += _configured(call.get("module"), f"{prefix}module.{name}.")
    return configured


def _unindexed(address: str) -> str:
    parts = []
    while "[" in address:
        before, _, rest = address.partition("[")
        quoted = rest.startswith('"')
        parts.append(before)
        address = rest.partition('"]' if quoted else "]")[2]
    return "".join((*parts, address))


def _read(planned: _Planned, table: dict[str, Field]) -> Fields:
    """Read the fields. Those that the configuration does not state lose their place: a plan lists defaults, too."""
    fields = read_fields(planned.values, table, [key for key, _ in planned.values.entries()], planned.kind)
    if planned.stated is not None:
        fields.places = {
            entry.name: node.place
            for key, entry in table.items()
            if key in planned.stated and (node := planned.values.get(key)) is not None
        }
    fields.places["name" if "name" in table else "durable_name"] = planned.place
    return fields


def _stream(planned: _Planned) -> DeclaredStream:
    bucket = planned.kind != "jetstream_stream"
    fields = _read(planned, BUCKET if bucket else STREAM)
    values = fields.values
    if bucket:
        make = key_value if planned.kind == "jetstream_kv_bucket" else object_store
        config = make(values.get("bucket", ""), values)
        fields.places["discard"] = planned.place
    else:
        config = _config(planned.values, values)
    table = BUCKET if bucket else STREAM
    return DeclaredStream(
        tool=Tool.TERRAFORM,
        what=planned.address,
        place=planned.place,
        config=config,
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=(*fields.mistakes, *planned.refused),
        planned_action=planned.planned_action,
        unknown=frozenset(table[key].name for key in planned.unknown if key in table),
    )


def _config(tree: Tree, values: dict[str, Any]) -> StreamConfig:
    mirrors = [_source(item) for item in (tree.get("mirror") or tree).items()]
    transforms = [_transform(item) for item in (tree.get("subject_transform") or tree).items()]
    if not values.get("placement.cluster"):
        values.pop("placement.tags", None)
    if not values.get("republish.src"):
        values = {name: value for name, value in values.items() if not name.startswith("republish.")}
    return replace(
        made(StreamConfig, values),
        mirror=mirrors[0] if mirrors else None,
        sources=tuple(_source(item) for item in (tree.get("source") or tree).items()),
        subject_transform=transforms[0] if transforms else None,
    )


def _source(tree: Tree) -> SourceConfig:
    external = [
        ExternalStream(api=item.text("api"), deliver=item.text("deliver")) for item in _blocks(tree, "external")
    ]
    start, since = tree.get("start_seq"), tree.get("start_time")
    return SourceConfig(
        name=tree.text("name"),
        opt_start_seq=number(start) if start else 0,
        opt_start_time=moment(since) if since and since.value else None,
        filter_subject=tree.text("filter_subject"),
        external=external[0] if external else None,
        subject_transforms=tuple(_transform(item) for item in _blocks(tree, "subject_transform")),
    )


def _blocks(tree: Tree, key: str) -> list[Tree]:
    node = tree.get(key)
    return list(node.items()) if node else []


def _transform(tree: Tree) -> SubjectTransform:
    return SubjectTransform(src=tree.text("source"), dest=tree.text("destination"))


def _consumer(planned: _Planned, names: dict[str, str], configured: dict[str, Tree]) -> DeclaredConsumer:
    fields = _read(planned, CONSUMER)
    values = {key: value for key, value in fields.values.items() if key not in _NOT_CONFIGURED}
    values["deliver_policy"] = _deliver_policy(fields.values)
    since = planned.values.get("start_time")
    if since is not None and since.value and values["deliver_policy"] == "by_start_time":
        values["opt_start_time"] = moment(since)
    stream = fields.values.get("stream_id", "") or _planned_stream(planned, names, configured)
    stream = names.get(stream, stream)
    return DeclaredConsumer(
        tool=Tool.TERRAFORM,
        what=planned.address,
        place=planned.place,
        stream=stream,
        config=ConsumerConfig(**values),
        places=fields.places,
        unread=frozenset(fields.unread),
        mistakes=(*fields.mistakes, *planned.refused),
        planned_action=planned.planned_action,
        unknown=frozenset(
            CONSUMER[key].name for key in planned.unknown if key in CONSUMER and not (key == "stream_id" and stream)
        ),
    )


def _deliver_policy(values: dict[str, Any]) -> str:
    for key in ("deliver_last_per_subject", "deliver_last", "deliver_new"):
        if values.get(key):
            return key.removeprefix("deliver_")
    if values.get("opt_start_seq"):
        return "by_start_sequence"
    return "by_start_time" if values.get("start_time") and not values.get("deliver_all") else "all"


def _planned_stream(planned: _Planned, names: dict[str, str], configured: dict[str, Tree]) -> str:
    """The stream that `stream_id = jetstream_stream.X.id` will be, while its id is not known yet."""
    written = configured.get(_unindexed(planned.address))
    references = written.get("expressions", "stream_id", "references") if written else None
    module = planned.address.rpartition("jetstream_consumer.")[0]
    for reference in references.items() if references else ():
        if name := names.get(f"{module}{reference.value}"):
            return name
    return ""
