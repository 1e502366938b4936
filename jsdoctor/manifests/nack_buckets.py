"""NACK's KeyValue, ObjectStore and Account resources."""

from __future__ import annotations

import re

from jsdoctor.manifests.buckets import key_value as key_value_stream
from jsdoctor.manifests.buckets import object_store as object_store_stream
from jsdoctor.manifests.fields import Field, Fields, at_least, go_duration, number, one_of, read_fields, text
from jsdoctor.manifests.nack import OF_EVERY_RESOURCE, missing, place_of, source, sources
from jsdoctor.manifests.tree import Tree
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import DeclaredLogin, DeclaredStream, FilePosition, Mistake, Tool

_BUCKET = {
    "bucket": Field("bucket", "name", text),
    "ttl": Field("ttl_ns", "max_age", go_duration),
    "maxBytes": Field("max_bytes", "max_bytes", number),
    "storage": Field("storage", "storage", one_of("file", "memory")),
    "replicas": Field("num_replicas", "num_replicas", at_least(1)),
    "limitMarkerTtl": Field("", "subject_delete_marker_ttl", None),
}
_KEY_VALUE = _BUCKET | {
    "history": Field("history", "max_msgs_per_subject", number),
    "maxValueSize": Field("max_value_size", "max_msg_size", number),
    "mirror": Field("mirror", "mirror", source),
    "sources": Field("sources", "sources", sources),
}
_UNJUDGED = ("placement", "compression", "republish", "metadata", *OF_EVERY_RESOURCE)
_SECRETS = (("user", "password"), ("token", "token"), ("nkey", "seed"), ("creds", "file"))
_ENCRYPTED = ("tls", "wss")
_MAX_HISTORY = 64


def key_value(resource: Tree, spec: Tree) -> DeclaredStream:
    """A KeyValue."""
    fields = read_fields(spec, _KEY_VALUE, _UNJUDGED, "a KeyValue")
    bucket = fields.values.get("bucket", "")
    if fields.values.get("history", 0) > _MAX_HISTORY:
        text = f"a bucket keeps {_MAX_HISTORY} values of a key at most"
        fields.mistakes.append(Mistake(fields.places["max_msgs_per_subject"], f"history: {text}"))
    return _declared("KeyValue", resource, spec, fields, key_value_stream(bucket, fields.values))


def object_store(resource: Tree, spec: Tree) -> DeclaredStream:
    """An ObjectStore."""
    fields = read_fields(spec, _BUCKET, _UNJUDGED, "an ObjectStore")
    bucket = fields.values.get("bucket", "")
    return _declared("ObjectStore", resource, spec, fields, object_store_stream(bucket, fields.values))


def _declared(what: str, resource: Tree, spec: Tree, fields: Fields, config: StreamConfig) -> DeclaredStream:
    """Clients choose the discard policy of buckets: it counts as stated."""
    place = place_of(resource, fields, "name")
    prevents = spec.get("preventUpdate")
    return DeclaredStream(
        tool=Tool.NACK,
        what=what,
        place=place,
        config=config,
        account=spec.text("account"),
        places={"discard": place, **fields.places},
        unread=frozenset(fields.unread),
        mistakes=tuple(fields.mistakes + missing(fields, "name", resource, "spec.bucket")),
        may_update=prevents is None or prevents.value is not True,
    )


def login(resource: Tree, spec: Tree) -> DeclaredLogin:
    """An Account: which secrets stand in it, and which of its servers are reached in clear text. No secret is kept."""
    inline = [(f"{group}.{key}", node.place) for group, key in _SECRETS if (node := spec.get(group, key)) is not None]
    clear: list[tuple[str, FilePosition]] = []
    for server in (node for node in (spec.get("servers"),) if node is not None):
        for item in server.items():
            if not isinstance(item.value, str):
                continue
            host, secret, encrypted = _server(item.value)
            if secret:
                inline.append(("servers", item.place))
            if not encrypted and spec.get("tls") is None:
                clear.append((host, item.place))
    name = resource.text("metadata", "name") or spec.text("name")
    return DeclaredLogin(place=resource.place, name=name, inline=tuple(inline), clear_text=tuple(clear))


def _server(url: str) -> tuple[str, bool, bool]:
    """Host and port of a server, whether its URL holds a login, and whether it is reached through TLS."""
    scheme, _, rest = url.rpartition("://")
    login, _, host = rest.rpartition("@")  # a password may have any of the characters that end a host
    return re.split(r"[/?#]", host)[0], bool(login), scheme in _ENCRYPTED
