"""Tables that the `nats` command prints (natscli 0.0.35 to 0.5.0), as the replies that they were made from.

A table is known by its columns: its title, its box and the order of its columns differ between versions. Sizes with a
unit are rounded, so they stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.server import Varz
from jsdoctor.pasted.cli_text import count, nanoseconds
from jsdoctor.pasted.documents import UNKNOWN_NAME, Document
from jsdoctor.pasted.found import RecognisedDocument, Refused, found_in, list_head
from jsdoctor.pasted.tables import Table, cells_below
from jsdoctor.replies.decoding import JszReply
from jsdoctor.replies.unseen import unseen_fields

_PARTIAL = frozenset({"", "config", "state", "cluster", "api", "meta_cluster", "slow_consumer_stats"})
_STATUS = re.compile(r"(\w+) \((\d{3})\)")
_SLOW_COUNT = re.compile(r"([crgl]): ([\d,]+)")
_SLOW_KINDS = {"c": "clients", "r": "routes", "g": "gateways", "l": "leafs"}
_STREAM_NAME = re.compile(r"(?:report for|in stream|Stream) (\S+)", re.IGNORECASE)
_TOTAL_CONSUMERS = re.compile(r"with ([\d,]+) consumers")
_NO_META_LEADER = re.compile(r"No cluster meta leader found\. The cluster expects (\d{1,4}) nodes", re.IGNORECASE)

_SUMMARY_COLUMNS = ("server", "streams", "consumers", "api req")
_META_COLUMNS = ("leader", "current", "online", "active", "lag")
_PEER_ID = re.compile(r"\(peerID: (\w{1,40})\)")  # beside a name before there was a column for it

Found = RecognisedDocument | Refused


def replies_of_tables(tables: Iterable[Table], text: str) -> Iterator[Found]:
    """Read the tables of `nats server`, `nats stream` and `nats consumer`. `text` is the whole text around them."""
    tables = list(tables)
    meta = next((_meta_group(table) for table in tables if table.has(*_META_COLUMNS)), None)
    if match := _NO_META_LEADER.search(text):
        meta = {"leader": "", "cluster_size": int(match[1])}
    summaries = [table for table in tables if table.has(*_SUMMARY_COLUMNS)]
    for table in tables:
        yield from (Refused(*words) for columns, *words in _UNJUDGED if table.has(*columns.split("|")))
        yield from (found for columns, read in _READERS if table.has(*columns) for found in read(table))
        yield from _jetstream_summary(table, meta) if table in summaries else ()
    # The streams and consumers that a list names because no server responded for them.
    of_stream = _STREAM_NAME.search(text)
    for kind, stream in (("Streams", ""), ("Consumers", of_stream[1] if of_stream else UNKNOWN_NAME)):
        missing = [name for row in cells_below(f"Inaccessible {kind}", text.splitlines()) for name in row if name]
        offline = {row[0]: row[-1] for row in cells_below(f"Offline {kind}", text.splitlines())}
        if missing or offline:
            yield list_head(stream, {"missing": missing, "offline": offline})
    if meta and not meta["leader"] and meta.get("replicas"):
        absent = ", ".join(peer["name"] for peer in meta["replicas"] if peer["offline"])
        why = "none of its rows is marked as that of the leader" + (f"; not online: {absent}" if absent else "")
        yield Refused("the table of the meta group", why, "give the whole table: nats server report jetstream")
    elif meta and meta["leader"] and not summaries:
        yield _server_document(Endpoint.JSZ, JszReply, meta["leader"], {"meta_cluster": meta, "disabled": False})


def _known_values(**values: Any) -> dict[str, Any]:
    """The values without those that are None, as nothing is known of them."""
    return {key: value for key, value in values.items() if value is not None}


def _server_document(endpoint: Endpoint, shape: Any, name: str, value: dict[str, Any]) -> RecognisedDocument:
    return RecognisedDocument(endpoint, Access.PASTED, value, server=name, unseen=unseen_fields(value, shape, _PARTIAL))


def _server_list(table: Table) -> Iterator[Found]:
    for row in table.rows:
        if not row["name"]:
            continue
        value = _known_values(
            server_name=row["name"],
            version=row["version"],
            connections=count(row["conns"]),
            subscriptions=count(row["subs"]),
            cores=count(row.get("cores", "")),
            slow_consumers=count(row.get("slow", "")),
        )
        if row.get("cluster"):
            value["cluster"] = {"name": row["cluster"]}
        if kinds := _SLOW_COUNT.findall(row.get("slow", "")):
            value["slow_consumer_stats"] = {_SLOW_KINDS[kind]: count(number) or 0 for kind, number in kinds}
        yield _server_document(Endpoint.VARZ, Varz, row["name"], value)


def _health(table: Table) -> Iterator[Found]:
    """Read a table with a row for each server, and below it a row for each of its errors."""
    health: dict[str, dict[str, Any]] = {}
    name = ""
    for row in table.rows:
        name = row["server"] or name
        if row["server"] and (match := _STATUS.match(row["status"])):
            health[name] = {"status": match[1], "status_code": int(match[2])}
        if row["error"] and name in health and not row["error"].isdecimal():
            health[name].setdefault("errors", []).append({"type": row["type"], "error": row["error"]})
    for server, value in health.items():
        yield RecognisedDocument(Endpoint.HEALTHZ, Access.PASTED, value, server=server)


_SYSTEM_HINT = "look at the deployment with a login of the system account: jsdoctor check --context NAME"


def _jetstream_summary(table: Table, meta: Mapping[str, Any] | None) -> Iterator[Found]:
    if "for account" in table.title.lower():
        yield Refused("the JetStream summary of an account", "its figures are of one account and not of the servers")
        return
    for row in table.rows:
        if not row["server"]:
            continue
        name = row["server"].removesuffix("*")
        value = _known_values(
            streams=count(row["streams"]), consumers=count(row["consumers"]), messages=count(row.get("messages", ""))
        )
        if (total := count(row["api req"])) is not None:
            value["api"] = _known_values(total=total, errors=count(row.get("api err", "")))
        if meta is not None:
            if meta["leader"] not in ("", name):
                continue  # the meta group is shown as its leader sees it, and not as this one does
            value |= {"meta_cluster": dict(meta), "disabled": False}
        yield _server_document(Endpoint.JSZ, JszReply, name, value)


def _meta_group(table: Table) -> dict[str, Any]:
    """The rows of the meta group as the `meta_cluster` that /jsz of its leader has."""
    name = "name" if table.has("name") else "connection name"
    rows = [row for row in table.rows if row[name]]
    leader = next((row for row in rows if row["leader"] == "yes"), None)
    return {
        "leader": leader[name] if leader else "",
        "cluster_size": len(rows),
        "replicas": [
            {
                "name": row[name],
                "peer": row["id"] or next(iter(_PEER_ID.findall(row[name])), ""),
                "current": row["current"] == "true",
                "offline": row["online"] == "false",
                "active": nanoseconds(row["active"]) or 0,
                "lag": count(row["lag"]) or 0,
            }
            for row in rows
            if row is not leader
        ],
    }


def _stream_report(table: Table) -> Iterator[Found]:
    yield from _marked_replicas(table)
    for row in table.rows:
        if not row["stream"]:
            continue
        state = _known_values(
            messages=count(row["messages"]),
            consumer_count=count(row.get("consumers", "")),
            num_deleted=count(row.get("deleted", "")),
        )
        config = {"name": row["stream"], "storage": row["storage"].lower()}
        yield from _assets({"config": config, "state": state, **_cluster(row.get("replicas", row.get("cluster", "")))})


def _marked_replicas(table: Table) -> Iterator[Found]:
    """Refuse each replica that is marked `!`: it has a fault, but the table does not say which."""
    asset = "stream" if table.has("stream") else "consumer"
    named: dict[str, list[str]] = {}
    for row in table.rows:
        for name in row.get("replicas", row.get("cluster", "")).split(","):
            if "!" in name:
                named.setdefault(name.strip().strip("*!"), []).append(row[asset])
    for name, assets in named.items():
        more = f" and {len(assets) - 1} more" if len(assets) > 1 else ""
        yield Refused(
            f"the mark ! at {name} in {asset} {assets[0]}{more}",
            "it means that the replica is not current or that its server is offline, and not which of both",
            f"nats {asset} info --json for one of them, or " + _SYSTEM_HINT,
        )


def _consumer_report(table: Table) -> Iterator[Found]:
    stream = _STREAM_NAME.search(table.title)
    yield from _marked_replicas(table)
    rows = [row for row in table.rows if row["consumer"] and (row["mode"] or not table.has("mode"))]
    total = count(match[1]) if (match := _TOTAL_CONSUMERS.search(table.title)) else None
    if stream and total and total > len(rows):
        yield list_head(stream[1], {"total": total})
        yield Refused(
            f"the consumer report of stream {stream[1]}",
            f"it shows {len(rows)} of {total} consumers",
            f"nats consumer report {stream[1]}, and give the whole of it",
        )
    for row in rows if stream else ():
        value = _known_values(
            stream_name=stream[1] if stream else "",
            name=row["consumer"],
            num_ack_pending=count(row["ack pending"]),
            num_redelivered=count(row["redelivered"]),
            num_pending=count(row["unprocessed"]),
        )
        yield from _assets({**value, "config": {}, **_cluster(row.get("cluster", ""))})


def _assets(value: dict[str, Any]) -> Iterator[Found]:
    return found_in(Document(value, _PARTIAL | {"delivered", "ack_floor"}))


def _cluster(text: str) -> dict[str, Any]:
    """The leader of `n1*, n2, n3!` as a cluster. The others are left out: `!` means offline or not current."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return {}
    return {"cluster": {"leader": next((name.rstrip("*!") for name in names if "*" in name), "")}}


def _subjects(table: Table) -> Iterator[Found]:
    title = re.match(r"([\d,]+) Subjects? in stream (\S+)", table.title)
    if title:
        yield from _assets({"config": {"name": title[2]}, "state": _known_values(num_subjects=count(title[1]))})


_READERS: tuple[tuple[tuple[str, ...], Callable[[Table], Iterator[Found]]], ...] = (
    (("name", "version", "js", "conns", "subs"), _server_list),
    (("server", "status", "type", "error"), _health),
    (("stream", "messages", "storage"), _stream_report),
    (("consumer", "ack pending", "unprocessed"), _consumer_report),
    (("subject", "count"), _subjects),
)
"""The columns by which a table is known, and the function that reads it."""

_TRAFFIC = "no rule judges the traffic of accounts"
_UNJUDGED = (
    (
        "cid|server|account|subs",
        "the connections report",
        "it shows only the first, not what waits for them",
        _SYSTEM_HINT,
    ),
    ("account|connections|in msgs|out msgs", "the accounts report", _TRAFFIC, _SYSTEM_HINT),
    ("stream|kind|source stream|lag", "the replication report", "it shows no configuration", "nats stream info --json"),
    ("name|created|messages|size|last message", "the list of streams", "it shows no replicas", "nats stream report"),
    (
        "name|ack pending|unprocessed|last delivery",
        "the list of consumers",
        "it names no stream",
        "nats consumer report",
    ),
    ("server|version|connections|sent bytes|received bytes", "the statistics of an account", _TRAFFIC, _SYSTEM_HINT),
    ("server|cluster|name|account|address|rtt", "the route report", "no rule judges routes alone", _SYSTEM_HINT),
    (
        "server|name|account|address|spoke",
        "the leaf node report",
        "it does not show which are configured",
        _SYSTEM_HINT,
    ),
    ("server|kind|connection|accounts", "the gateway report", "it does not show which are configured", _SYSTEM_HINT),
    ("stream replica|raft|node|status", "the stream check", "its columns depend on what it compares", _SYSTEM_HINT),
)
"""Tables that no rule judges: their columns, what they are, why they are refused, what to give instead."""
