"""Kinds of pasted documents and their parts: replies of servers and of the JetStream API, recognised by their keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.server import MetaGroup, Varz
from jsdoctor.pasted.documents import UNKNOWN_NAME, Document, documents
from jsdoctor.replies.decoding import ConsumerReply, JszReply, StreamReply
from jsdoctor.replies.unseen import reply_fields, unseen_fields

MIN_KNOWN_FIELDS = 3
OF_CONSUMERS = frozenset(
    {"stream_name", "num_ack_pending", "num_redelivered", "num_waiting", "num_pending", "ack_floor"}
)
_OF_VARZ = frozenset({"total_connections", "slow_consumers", "max_control_line", "in_msgs", "gomaxprocs"})
_SHAPES: tuple[tuple[Any, str, Collection[str]], ...] = (
    (ConsumerReply, "", OF_CONSUMERS),
    (Varz, "", _OF_VARZ),
    (StreamReply, "", {"state", "cluster"}),
    (Cluster, "cluster", {"replicas", "raft_group"}),
    (MetaGroup, "meta_cluster", {"cluster_size"}),
    (JszReply, "", {"meta_cluster"}),
    (StreamState, "state", {"first_seq", "last_seq"}),
)
"""What a part may be of, the key under which it stands there, and fields of which it has one."""


def completed_part(value: Mapping[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """The type of reply that contains such a part, and that reply with the part in its place.

    It has placeholders for the names that it needs. None if fewer fields are known than MIN_KNOWN_FIELDS, nested ones
    included.
    """
    for shape, key, telling in _SHAPES:
        if not telling & value.keys() or known_fields(value, shape) < MIN_KNOWN_FIELDS:
            continue
        whole = {key: dict(value)} if key else dict(value)
        if shape is ConsumerReply:
            return shape, {"stream_name": UNKNOWN_NAME, "name": UNKNOWN_NAME, **whole}
        if shape in (MetaGroup, JszReply):
            return JszReply, {"disabled": False, **whole}
        if shape is not Varz:
            config = whole.get("config") if isinstance(whole.get("config"), dict) else {}
            return StreamReply, {**whole, "config": {"name": whole.get("name", UNKNOWN_NAME), **(config or {})}}
        return shape, whole
    return None


def known_fields(value: Mapping[str, Any], shape: Any) -> int:
    """How many fields of a value and of its parts a shape has."""
    number = 0
    for _, key, below, _ in reply_fields(shape):
        if key in value:
            inner = value[key]
            number += 1 + (known_fields(inner, below) if below is not None and isinstance(inner, dict) else 0)
    return number


_MAX = 20_000
_OUTERMOST = ""
"""The path of the outermost container of a document."""
_TIMES = frozenset({"created", "state.first_ts", "state.last_ts", "delivered.last_active", "ack_floor.last_active"})
"""Times that mean something only beside the time of the reply."""

_WHOLE = ({"cluster", "state", "created"}, {"config", "state"}, {"config", "delivered"})
"""Fields of a part that lacks nothing but a name: streams of /jsz, without and with configuration, and consumers."""

_HEALTH_KEYS = frozenset({"status", "status_code", "error", "errors"})
_OF_STATSZ_ALONE = frozenset({"routes", "gateways", "sent", "received", "active_servers", "jetstream"})
_ACCOUNT_HOW = "give the account: /accountz?acc=NAME, or look at the deployment: jsdoctor check --context NAME"
_SERVER_HOW = "give /varz, /jsz, /healthz and /raftz"
_TRAFFIC = "no rule judges the traffic of accounts"
_REFUSED: tuple[tuple[str, str, str, str], ...] = (
    ("accounts system_account", "the list of accounts", "it has their names alone", _ACCOUNT_HOW),
    ("account_statz", "the statistics of accounts", _TRAFFIC, _ACCOUNT_HOW),
    ("account connection_info", "the accounts report", _TRAFFIC, _ACCOUNT_HOW),
    (
        "cid kind start",
        "a connection of the connections report",
        "others may be left out",
        "give /connz of each server",
    ),
    ("cmdline memstats", "the variables of the Go runtime", "they show nothing of JetStream", _SERVER_HOW),
    ("num_routes", "the list of routes", "no rule reads it", _SERVER_HOW),
    ("routes server_id", "the list of routes", "no rule reads it", _SERVER_HOW),
    ("num_subscriptions", "the list of subscriptions", "no rule reads it", _SERVER_HOW),
)
"""Documents of servers and of `nats` that no rule judges, by keys that all of them have: what, why, what to give."""

_USAGE_KEYS = frozenset(
    {"memory", "storage", "streams", "consumers", "limits", "api", "tiers", "domain", "type", "reserved_memory"}
    | {"reserved_storage"}
)


class RecognisedDocument(msgspec.Struct, frozen=True):
    """One recognised document.

    `server` names the sender, if the paste does. `unseen` are its fields that the paste does not show, by the path of
    the reply; of lists of streams and consumers there is one `RecognisedDocument` for each. `stream` and `name` are
    those of the asset.
    """

    endpoint: Endpoint
    access: Access
    value: Any
    server: str = ""
    stream: str = ""
    name: str = ""
    unseen: frozenset[str] = frozenset()
    inside: Mapping[tuple[str, str, str], frozenset[str]] | None = None
    is_of_metrics: bool = False
    shows_usage: bool = True


class Refused(msgspec.Struct, frozen=True):
    """A document that is known and cannot be judged: what it is, why, and what to give instead."""

    what: str
    reason: str
    how_to_get: str = "give the whole reply"


def found_in(document: Document, server: str = "") -> Iterator[RecognisedDocument | Refused]:
    """All replies in a document, envelopes opened and lists taken apart. `server`: the sender, if it is known."""
    values = document.value if isinstance(document.value, list) else [document.value]
    inside = "*" if isinstance(document.value, list) else ""
    for number, value in enumerate(values[:_MAX]):
        last = number == len(values) - 1
        if isinstance(value, dict):
            yield from _reply(value, _below(document.open, inside) if last else frozenset(), server)


def _below(paths: frozenset[str], key: str) -> frozenset[str]:
    """The open paths inside of one key."""
    if not key:
        return paths
    return frozenset(path[len(key) + 1 :] for path in paths if path == key or path.startswith(key + "."))


def _reply(value: Mapping[str, Any], cut: frozenset[str], server: str) -> Iterator[RecognisedDocument | Refused]:
    data = value.get("data")
    if isinstance(value.get("server"), dict) and isinstance(data, dict):
        name = value["server"].get("name")
        yield from _reply(data, _below(cut, "data"), name if isinstance(name, str) else "")
        return
    if isinstance(value.get("server"), dict) and isinstance(value.get("statsz"), dict):
        yield from _statsz(value["server"], value["statsz"], _below(cut, "statsz"))
        return
    streams, consumers = value.get("streams"), value.get("consumers")
    if _is_stream(value):
        yield from _stream(value, cut)
    elif _is_consumer(value):
        yield _consumer(value, cut)
    elif isinstance(streams, list) or isinstance(consumers, list) or isinstance(value.get("missing"), list):
        listed = list(_listed(streams if isinstance(streams, list) else consumers or [], cut))
        of_stream = listed[0].stream if listed else UNKNOWN_NAME
        stream = of_stream if isinstance(consumers, list) else ""
        head = {key: value[key] for key in ("missing", "offline") if value.get(key)}
        yield from listed
        yield from [list_head(stream, head)] if head else []
    elif isinstance(value.get("stream_detail"), list):
        inside = {f"account_details.*.{path}".rstrip(".") for path in cut}
        yield from _jsz({"account_details": [dict(value)]}, frozenset({"", "account_details"} | inside), server)
    elif known := list(_of_server(value, cut, server)) or list(_fragment(value, cut, server)):
        yield from known
    elif not {"apiVersion", "kind"} <= value.keys():
        yield from _inside(value, cut, server)


def _inside(value: Mapping[str, Any], cut: frozenset[str], server: str) -> Iterator[RecognisedDocument | Refused]:
    """What stands inside of an envelope, or of a member of a reply that was copied without the rest, at any depth."""
    for key, inner in value.items():
        inners = documents(inner) if isinstance(inner, str) and "{" in inner else [Document(inner, _below(cut, key))]
        for document in inners:
            if isinstance(document.value, dict | list):
                yield from found_in(document, server)


def _fragment(value: Mapping[str, Any], cut: frozenset[str], server: str) -> Iterator[RecognisedDocument | Refused]:
    """A part of a reply that was copied alone. What it lacks counts as cut off."""
    part = completed_part(value)
    if part is None:
        return
    shape, whole = part
    if "config" not in value:
        cut |= {"config"}
    if not any(keys <= value.keys() for keys in _WHOLE):
        cut |= {_OUTERMOST}
    if shape is StreamReply:
        yield from _stream(whole, cut)
    elif shape is JszReply:
        yield from _jsz(whole, cut, server)
    elif shape is ConsumerReply:
        yield _consumer(whole, cut)
    else:
        yield _varz(whole, cut, server)


def _is_stream(value: Mapping[str, Any]) -> bool:
    config = value.get("config")
    if not isinstance(config, dict) or not isinstance(config.get("name"), str) or OF_CONSUMERS & value.keys():
        return False
    return (
        bool({"state", "cluster", "created"} & value.keys()) or known_fields(config, StreamConfig) >= MIN_KNOWN_FIELDS
    )


def _is_consumer(value: Mapping[str, Any]) -> bool:
    named = isinstance(value.get("stream_name"), str) and isinstance(value.get("name"), str)
    return named and bool({"config", "delivered", "ack_floor", "num_pending"} & value.keys())


def list_head(stream: str, head: Mapping[str, Any]) -> RecognisedDocument:
    """What a list says beside its items: how many there are, and which did not respond. `stream`: of its consumers."""
    endpoint = Endpoint.CONSUMER_LIST if stream else Endpoint.STREAM_LIST
    return RecognisedDocument(endpoint, Access.ACCOUNT, dict(head), stream=stream)


def _listed(items: list[Any], cut: frozenset[str]) -> Iterator[RecognisedDocument]:
    for key in ("streams", "consumers"):
        cut |= _below(cut, f"{key}.*")
    for number, item in enumerate(items[:_MAX]):
        inside = cut if number == len(items) - 1 else frozenset[str]()
        if isinstance(item, dict) and _is_stream(item):
            yield from _stream(item, inside)
        elif isinstance(item, dict) and _is_consumer(item):
            yield _consumer(item, inside)


def _stream(value: Mapping[str, Any], cut: frozenset[str]) -> Iterator[RecognisedDocument]:
    name = value["config"]["name"]
    details = value.get("consumer_detail")
    value, unseen = _asset(value, StreamReply, cut)
    shown = {key: part for key, part in value.items() if key != "consumer_detail"}
    yield RecognisedDocument(Endpoint.STREAM_LIST, Access.ACCOUNT, shown, stream=name, name=name, unseen=unseen)
    if isinstance(details, list):
        yield from _listed(details, _below(cut, "consumer_detail.*"))


def _consumer(value: Mapping[str, Any], cut: frozenset[str]) -> RecognisedDocument:
    value, unseen = _asset(value, ConsumerReply, cut)
    stream, name = value["stream_name"], value["name"]
    return RecognisedDocument(
        Endpoint.CONSUMER_LIST, Access.ACCOUNT, dict(value), stream=stream, name=name, unseen=unseen
    )


def _asset(value: Mapping[str, Any], shape: Any, cut: frozenset[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """A stream or consumer, and its unseen fields. Who leads it may be cut off: that is no asset without a leader."""
    unseen = unseen_fields(value, shape, cut) | (frozenset() if "ts" in value else _TIMES)
    cluster = value.get("cluster")
    unknown = UNKNOWN_NAME if "cluster" in cut else ""
    if not isinstance(cluster, dict) or cluster.get("leader", unknown) != UNKNOWN_NAME:
        return dict(value), unseen
    return {**value, "cluster": {**cluster, "leader": UNKNOWN_NAME}}, unseen | {"cluster.leader"}


def _of_server(value: Mapping[str, Any], cut: frozenset[str], server: str) -> Iterator[RecognisedDocument | Refused]:
    keys = value.keys()
    if {"server_id", "version", "max_payload"} <= keys or {"server_name", "version", "connections", "mem"} <= keys:
        yield _varz(value, cut, server)
    elif _is_jsz(keys):
        yield from _jsz(value, cut, server)
    elif (
        {"config", "stats"} <= keys
        and isinstance(stats := value["stats"], dict)
        and {"memory", "storage"} <= set(stats)
    ):
        yield _jetstream_of_varz(value, stats, cut, server)
    elif known := next(((endpoint, what) for endpoint, what, fits in _WHOLE_REPLIES if fits(value)), None):
        endpoint, what = known
        yield (
            Refused(what, "the reply is cut short")
            if cut
            else RecognisedDocument(endpoint, Access.PASTED, dict(value), server)
        )
    elif {"memory", "storage", "limits"} <= keys <= _USAGE_KEYS:
        usage = RecognisedDocument(Endpoint.ACCOUNT_INFO, Access.ACCOUNT, dict(value))
        yield Refused("the usage of an account", "the reply is cut short") if cut else usage
    else:
        refused = (Refused(*words) for known, *words in _REFUSED if set(known.split()) <= keys)
        yield from islice(refused, 1)


def _varz(value: Mapping[str, Any], cut: frozenset[str], server: str) -> RecognisedDocument:
    name, unseen = value.get("server_name"), unseen_fields(value, Varz, cut)
    sender = name if isinstance(name, str) else server
    return RecognisedDocument(Endpoint.VARZ, Access.PASTED, value, sender, unseen=unseen)


def _jetstream_of_varz(
    value: Mapping[str, Any], stats: Mapping[str, Any], cut: frozenset[str], server: str
) -> RecognisedDocument:
    """The section of /varz about JetStream, copied without what is around it; without JetStream it is empty."""
    shown = {**stats, "disabled": False, "config": value["config"] if isinstance(value["config"], dict) else {}}
    unseen = unseen_fields(shown, JszReply, cut | {""})
    return RecognisedDocument(Endpoint.JSZ, Access.PASTED, shown, server, unseen=unseen)


def _jsz(value: Mapping[str, Any], cut: frozenset[str], server: str) -> Iterator[RecognisedDocument | Refused]:
    whole, inside = _nested(value, cut)
    unseen = unseen_fields(value, JszReply, cut) - {"account_details"}
    yield RecognisedDocument(
        Endpoint.JSZ, Access.PASTED, whole, server or reporter_of(whole), unseen=unseen, inside=inside
    )


def _nested(
    value: Mapping[str, Any], cut: frozenset[str]
) -> tuple[dict[str, Any], dict[tuple[str, str, str], frozenset[str]]]:
    """A jsz reply, and what its streams and consumers do not show: it was cut, or requested without `config=1`."""
    inside: dict[tuple[str, str, str], frozenset[str]] = {}

    def named(asset: Any, path: str, account: str, stream: str) -> Any:
        config = asset.get("config", {}) if isinstance(asset, dict) else None
        if not isinstance(config, dict) or not isinstance(name := config.get("name") or asset.get("name"), str):
            return asset
        of_last = _below(cut, path) | (frozenset() if "config" in asset else {"config"})
        shape, key = (ConsumerReply, (account, stream, name)) if stream else (StreamReply, (account, name, ""))
        asset = {**asset, "config": {"name": name, **config}}
        if unseen := unseen_fields(asset, shape, of_last):
            inside[key] = unseen
        return asset if stream else {**asset, **parts(asset, path, "consumer_detail", account, name)}

    def parts(holder: Mapping[str, Any], path: str, key: str, account: str, stream: str) -> dict[str, Any]:
        listed = holder.get(key)
        if not isinstance(listed, list):
            return {}
        last = len(listed) - 1
        places = (f"{path}.{key}.*" if number == last else "-" for number in range(last + 1))
        return {key: [named(item, place, account, stream) for item, place in zip(listed, places, strict=True)]}

    details = value.get("account_details")
    accounts = [dict(account) for account in details if isinstance(account, dict)] if isinstance(details, list) else []
    for account in accounts:
        path = "account_details.*" if account is accounts[-1] else "-"
        account.update(parts(account, path, "stream_detail", str(account.get("name")), ""))
    return {**value, "account_details": accounts} if accounts else dict(value), inside


def _is_jsz(keys: Collection[str]) -> bool:
    jetstream = bool({"memory", "storage"} & set(keys))
    return "account_details" in keys or (jetstream and bool({"server_id", "ha_assets", "meta_cluster"} & set(keys)))


def _statsz(server: Mapping[str, Any], statsz: Mapping[str, Any], cut: frozenset[str]) -> Iterator[RecognisedDocument]:
    """The statistics that each server sends to the system account, as `nats server list --json` prints them."""
    name = server.get("name")
    reported = {"server_name": name, "server_id": server.get("id"), "version": server.get("ver")}
    cluster = {"cluster": {"name": server["cluster"]}} if isinstance(server.get("cluster"), str) else {}
    value = {key: value for key, value in statsz.items() if key not in _OF_STATSZ_ALONE} | reported | cluster
    sender = name if isinstance(name, str) else ""
    unseen = unseen_fields(value, Varz, cut | {"", "cluster"})
    yield RecognisedDocument(Endpoint.VARZ, Access.PASTED, value, sender, unseen=unseen)
    jetstream = statsz.get("jetstream")
    if isinstance(jetstream, dict) and isinstance(stats := jetstream.get("stats"), dict) and not cut:
        shown = {"server_id": server.get("id"), **stats, "config": jetstream.get("config") or {}}
        shown |= {"meta_cluster": jetstream["meta"]} if isinstance(jetstream.get("meta"), dict) else {}
        unseen = unseen_fields(shown, JszReply, frozenset({""}))
        yield RecognisedDocument(Endpoint.JSZ, Access.PASTED, shown, sender, unseen=unseen)


def _is_raftz(value: Mapping[str, Any]) -> bool:
    groups = [group for account in value.values() if isinstance(account, dict) for group in account.values()]
    return bool(groups) and all(isinstance(group, dict) and {"id", "state", "term"} <= group.keys() for group in groups)


_WHOLE_REPLIES: tuple[tuple[Endpoint, str, Callable[[Mapping[str, Any]], bool]], ...] = (
    (Endpoint.HEALTHZ, "a health check", lambda v: v.keys() <= _HEALTH_KEYS and isinstance(v.get("status"), str)),
    (Endpoint.CONNZ, "connections", lambda v: isinstance(v.get("connections"), list) and "num_connections" in v),
    (Endpoint.GATEWAYZ, "gateways", lambda v: bool({"outbound_gateways", "inbound_gateways"} & v.keys())),
    (Endpoint.LEAFZ, "leaf nodes", lambda v: isinstance(v.get("leafs"), list)),
    (Endpoint.RAFTZ, "Raft groups", _is_raftz),
    (Endpoint.ACCOUNTZ, "an account", lambda v: "account_detail" in v),
)
"""Replies that can only be judged whole: of a list, what is missing would count as not there."""


def reporter_of(reply: Mapping[str, Any]) -> str:
    """The name of the server that sent a reply, from any Raft group that it leads; empty where it leads none.

    A server lists the replicas of a group without itself (`JetStream.clusterInfo`), so a leader that is not among them
    is the sender.
    """
    names = {
        leader
        for group in _groups(reply)
        if isinstance(leader := group.get("leader"), str) and leader and leader not in _replicas(group)
        if "replicas" in group or group is not reply.get("meta_cluster")
    }
    return names.pop() if len(names) == 1 else ""


def _replicas(group: Mapping[str, Any]) -> set[str]:
    listed = group.get("replicas")
    return {str(item.get("name")) for item in listed if isinstance(item, dict)} if isinstance(listed, list) else set()


def _groups(reply: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The meta group, of which only the leader lists the replicas, and the groups of streams and consumers."""
    yield from _group(reply.get("meta_cluster"))
    for account in _dicts(reply.get("account_details")):
        for stream in _dicts(account.get("stream_detail")):
            yield from _group(stream.get("cluster"))
            for consumer in _dicts(stream.get("consumer_detail")):
                yield from _group(consumer.get("cluster"))


def _group(group: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(group, dict):
        yield group


def _dicts(items: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))
