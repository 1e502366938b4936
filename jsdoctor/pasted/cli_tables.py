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

_INSIDE = frozenset({"", "config", "state", "cluster", "api", "meta_cluster", "slow_consumer_stats"})
_STATUS = re.compile(r"(\w+) \((\d{3})\)")
_SLOW = re.compile(r"([crgl]): ([\d,]+)")
_SLOW_KINDS = {"c": "clients", "r": "routes", "g": "gateways", "l": "leafs"}
_OF_STREAM = re.compile(r"(?:report for|in stream|Stream) (\S+)", re.IGNORECASE)
_TOTAL = re.compile(r"with ([\d,]+) consumers")
_NO_META_LEADER = re.compile(r"No cluster meta leader found\. The cluster expects (\d{1,4}) nodes", re.IGNORECASE)

_SUMMARY_COLUMNS = ("server", "streams", "consumers", "api req")
_META_COLUMNS = ("leader", "current", "online", "active", "lag")
_PEER_ID = re.compile(r"\(peerID: (\w{1,40})\)")  # beside a name before there was a column for it

Found = RecognisedDocument | Refused


def replies_of_tables(tables: Iterable[Table], text: str) -> Iterator[Found]:
    """What tables of `nats server`, `nats stream` and `nats consumer` show. `text` is what they stand in."""
    tables = list(tables)
    meta = next((_meta_group(table) for table in tables if table.has(*_META_COLUMNS)), None)
    if match := _NO_META_LEADER.search(text):
        meta = {"leader": "", "cluster_size": int(match[1])}
    summaries = [table for table in tables if table.has(*_SUMMARY_COLUMNS)]
    for table in tables:
        yield from (Refused(*words) for columns, *words in _UNJUDGED if table.has(*columns.split("|")))
        yield from (found for columns, read in _READERS if table.has(*columns) for found in read(table))
        yield from _jetstream(table, meta) if table in summaries else ()
    # The streams and consumers that a list names because no server responded for them.
    of_stream = _OF_STREAM.search(text)
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
        yield _of_server(Endpoint.JSZ, JszReply, meta["leader"], {"meta_cluster": meta, "disabled": False})


def _shown(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _of_server(endpoint: Endpoint, shape: Any, name: str, value: dict[str, Any]) -> RecognisedDocument:
    return RecognisedDocument(endpoint, Access.PASTED, value, server=name, unseen=unseen_fields(value, shape, _INSIDE))


def _server_list(table: Table) -> Iterator[Found]:
    for row in table.rows:
        if not row["name"]:
            continue
        value = _shown(
            server_name=row["name"],
            version=row["version"],
            connections=count(row["conns"]),
            subscriptions=count(row["subs"]),
            cores=count(row.get("cores", "")),
            slow_consumers=count(row.get("slow", "")),
        )
        if row.get("cluster"):
            value["cluster"] = {"name": row["cluster"]}
        if kinds := _SLOW.findall(row.get("slow", "")):
            value["slow_consumer_stats"] = {_SLOW_KINDS[kind]: count(number) or 0 for kind, number in kinds}
        yield _of_server(Endpoint.VARZ, Varz, row["name"], value)


def _health(table: Table) -> Iterator[Found]:
    """A row for each server, and below it one for each of its errors."""
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


_LOOK = "look at the deployment with a login of the system account: jsdoctor check --context NAME"


def _jetstream(table: Table, meta: Mapping[str, Any] | None) -> Iterator[Found]:
    if "for account" in table.title.lower():
        yield Refused("the JetStream summary of an account", "its figures are of one account and not of the servers")
        return
    for row in table.rows:
        if not row["server"]:
            continue
        name = row["server"].removesuffix("*")
        value = _shown(
            streams=count(row["streams"]), consumers=count(row["consumers"]), messages=count(row.get("messages", ""))
        )
        if (total := count(row["api req"])) is not None:
            value["api"] = _shown(total=total, errors=count(row.get("api err", "")))
        if meta is not None:
            if meta["leader"] not in ("", name):
                continue  # the meta group is shown as its leader sees it, and not as this one does
            value |= {"meta_cluster": dict(meta), "disabled": False}
        yield _of_server(Endpoint.JSZ, JszReply, name, value)


def _meta_group(table: Table) -> dict[str, Any]:
    """The meta group as its leader shows it."""
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
    yield from _marked(table)
    for row in table.rows:
        if not row["stream"]:
            continue
        state = _shown(
            messages=count(row["messages"]),
            consumer_count=count(row.get("consumers", "")),
            num_deleted=count(row.get("deleted", "")),
        )
        config = {"name": row["stream"], "storage": row["storage"].lower()}
        yield from _assets({"config": config, "state": state, **_cluster(row.get("replicas", row.get("cluster", "")))})


def _marked(table: Table) -> Iterator[Found]:
    """Replicas with a mark have a fault that the table does not name, so they are neither judged nor passed over."""
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
            f"nats {asset} info --json for one of them, or " + _LOOK,
        )


def _consumer_report(table: Table) -> Iterator[Found]:
    stream = _OF_STREAM.search(table.title)
    yield from _marked(table)
    rows = [row for row in table.rows if row["consumer"] and (row["mode"] or not table.has("mode"))]
    total = count(match[1]) if (match := _TOTAL.search(table.title)) else None
    if stream and total and total > len(rows):
        yield list_head(stream[1], {"total": total})
        yield Refused(
            f"the consumer report of stream {stream[1]}",
            f"it shows {len(rows)} of {total} consumers",
            f"nats consumer report {stream[1]}, and give the whole of it",
        )
    for row in rows if stream else ():
        value = _shown(
            stream_name=stream[1] if stream else "",
            name=row["consumer"],
            num_ack_pending=count(row["ack pending"]),
            num_redelivered=count(row["redelivered"]),
            num_pending=count(row["unprocessed"]),
        )
        yield from _assets({**value, "config": {}, **_cluster(row.get("cluster", ""))})


def _assets(value: dict[str, Any]) -> Iterator[Found]:
    return found_in(Document(value, _INSIDE | {"delivered", "ack_floor"}))


def _cluster(text: str) -> dict[str, Any]:
    """`n1*, n2, n3!`: the leader. Of the others only what is not current or offline is marked, not which of both."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return {}
    return {"cluster": {"leader": next((name.rstrip("*!") for name in names if "*" in name), "")}}


def _subjects(table: Table) -> Iterator[Found]:
    title = re.match(r"([\d,]+) Subjects? in stream (\S+)", table.title)
    if title:
        yield from _assets({"config": {"name": title[2]}, "state": _shown(num_subjects=count(title[1]))})


_READERS: tuple[tuple[tuple[str, ...], Callable[[Table], Iterator[Found]]], ...] = (
    (("name", "version", "js", "conns", "subs"), _server_list),
    (("server", "status", "type", "error"), _health),
    (("stream", "messages", "storage"), _stream_report),
    (("consumer", "ack pending", "unprocessed"), _consumer_report),
    (("subject", "count"), _subjects),
)
"""What a table must have to be read, and how."""

_TRAFFIC = "no rule judges the traffic of accounts"
_UNJUDGED = (
    ("cid|server|account|subs", "the connections report", "it shows only the first, not what waits for them", _LOOK),
    ("account|connections|in msgs|out msgs", "the accounts report", _TRAFFIC, _LOOK),
    ("stream|kind|source stream|lag", "the replication report", "it shows no configuration", "nats stream info --json"),
    ("name|created|messages|size|last message", "the list of streams", "it shows no replicas", "nats stream report"),
    (
        "name|ack pending|unprocessed|last delivery",
        "the list of consumers",
        "it names no stream",
        "nats consumer report",
    ),
    ("server|version|connections|sent bytes|received bytes", "the statistics of an account", _TRAFFIC, _LOOK),
    ("server|cluster|name|account|address|rtt", "the route report", "no rule judges routes alone", _LOOK),
    ("server|name|account|address|spoke", "the leaf node report", "it does not show which are configured", _LOOK),
    ("server|kind|connection|accounts", "the gateway report", "it does not show which are configured", _LOOK),
    ("stream replica|raft|node|status", "the stream check", "its columns depend on what it compares", _LOOK),
)
"""Tables that no rule judges, by their columns: what, why, what to give."""
