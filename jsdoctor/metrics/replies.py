"""Series of one moment as the replies of servers that they were made from, with the fields that they do not show.

An exporter flattens `/varz`, `/jsz`, `/healthz` and others into metrics. Here they become those replies again, one set
for each server: followers' copies of an asset stay apart from the leader's, and accounts stay apart from each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from jsdoctor.metrics import names
from jsdoctor.metrics.series import MetricSeries
from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.server import Varz
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.pasted.found import RecognisedDocument
from jsdoctor.replies.decoding import JszReply
from jsdoctor.replies.unseen import unseen_fields

Asset = tuple[str, str, str]
"""Account, stream, and the consumer's name; empty for the stream itself."""

_STREAM_PARTS = frozenset({"", "config", "state"})
_CONSUMER_PARTS = frozenset({"", "config", "delivered", "ack_floor"})
_MAX_VALUE = 2**63


class AssetReplies:
    """Collects what series show of accounts, streams and consumers. Pass all to `take`, then call the other methods."""

    def __init__(self, server: str, at: datetime) -> None:
        self._server, self._at = server, at
        self._accounts: dict[str, dict[str, Any]] = {}
        self._streams: dict[Asset, dict[str, Any]] = {}
        self._consumers: dict[Asset, dict[str, Any]] = {}
        self._shows_ages = False

    def take(self, known: str, series: MetricSeries, value: float) -> None:
        """Take a series of an account, a stream or a consumer; ignore one without the labels that name it."""
        account, stream = series.label("account_name", "account"), series.label("stream_name", "stream")
        if known in names.OF_ACCOUNT:
            detail = self._accounts.setdefault(account, {"name": account, "id": series.label("account_id")})
            put(detail, names.OF_ACCOUNT[known], int(value))
            return
        if not stream or not -1 <= value < _MAX_VALUE:
            return
        name = series.label("consumer_name")
        if known in names.OF_STREAM:
            stream_reply = self._stream(account, stream, series)
            put(stream_reply, names.OF_STREAM[known], int(value))
        elif name and (known in names.OF_CONSUMER or known in names.AGES_OF_CONSUMER):
            consumer = self._consumer(account, stream, name, series)
            if path := names.OF_CONSUMER.get(known):
                put(consumer, path, int(value))
            else:
                self._shows_ages = True
                if moment := _shifted(self._at, -value):
                    put(consumer, names.AGES_OF_CONSUMER[known], moment.isoformat())

    def _stream(self, account: str, stream: str, series: MetricSeries) -> dict[str, Any]:
        reply = self._streams.setdefault((account, stream, ""), {"config": {"name": stream}, "state": {}})
        self._set_leader(reply, series, "stream")
        return reply

    def _consumer(self, account: str, stream: str, name: str, series: MetricSeries) -> dict[str, Any]:
        key = (account, stream, name)
        reply = self._consumers.setdefault(key, {"stream_name": stream, "name": name, "config": {}})
        self._set_leader(reply, series, "consumer")
        return reply

    def _set_leader(self, reply: dict[str, Any], series: MetricSeries, kind: str) -> None:
        """Set the leader of a reply: a label names it, or shows at least whether it is this server.

        Without a leader's name, `cluster_name` shows that there is no leader. A server outside of any cluster reports
        that it leads itself (prometheus-nats-exporter), or has no `cluster_name` (nats-surveyor).
        """
        leader, own = series.label(f"{kind}_leader"), series.label(f"is_{kind}_leader")
        if leader:
            reply["cluster"] = {"leader": leader}
        elif own == "false" or (not own and series.label("cluster_name")):
            reply["cluster"] = {"leader": ""}
        elif own == "true":
            reply["cluster"] = None  # a server outside of any cluster

    def accounts(self) -> list[dict[str, Any]]:
        """The `account_details` of `/jsz`. A stream without metrics of consumers has no list of them.

        Adds a stream for each consumer whose stream has no metrics.
        """
        details = {key: dict(value) for key, value in self._accounts.items()}
        for account, stream, _ in self._consumers:
            self._streams.setdefault((account, stream, ""), {"config": {"name": stream}, "state": {}})
        for (account, stream, _), value in self._streams.items():
            listed = [c for (a, s, _), c in self._consumers.items() if (a, s) == (account, stream)]
            detail = {**value, "consumer_detail": listed} if listed else value
            of_account = details.setdefault(account, {"name": account})
            of_account.setdefault("stream_detail", []).append(detail)
        return list(details.values())

    def hidden(self) -> Mapping[Asset, frozenset[str]]:
        """The fields of every stream and consumer that no metric shows. Sets missing ages to None before."""
        hidden_assets = {key: _unseen_of_stream(value) for key, value in self._streams.items()}
        for key, value in self._consumers.items():
            if self._shows_ages:
                # This exporter shows when a consumer last delivered; for one that never did, there is no series.
                for pair in ("delivered", "ack_floor"):
                    if pair in value:
                        value[pair].setdefault("last_active", None)
            hidden_assets[key] = _unseen_of_consumer(value)
        return hidden_assets

    @property
    def shows_usage(self) -> bool:
        """Whether metrics show the storage of every account with streams."""
        return bool(self._accounts) and {account for account, _, _ in self._streams} <= self._accounts.keys()


def _unseen_of_stream(value: Mapping[str, Any]) -> frozenset[str]:
    # The leader's name separates copies; no metric shows the other members.
    shown = {key: part for key, part in value.items() if key != "cluster" or part is None}
    always = {"account", "domain", "name", "at", "answered_by", "has_leader", "from_leader", "consumers"}
    return unseen_fields(shown, Stream, _STREAM_PARTS) - always - {"consumers_seen"}


def _unseen_of_consumer(value: Mapping[str, Any]) -> frozenset[str]:
    shown = {key: part for key, part in value.items() if key != "cluster" or part is None}
    always = {"account", "stream", "name", "at", "answered_by", "has_leader", "from_leader"}
    return unseen_fields(shown, Consumer, _CONSUMER_PARTS) - always


def put(value: dict[str, Any], path: tuple[str, ...], content: object) -> None:
    """Set `content` at a path of keys, and create the objects on the way to it."""
    for key in path[:-1]:
        value = value.setdefault(key, {})
    value[path[-1]] = content


UNSEEN_OF_LEAFS = frozenset({"leafs.is_spoke"})
UNSEEN_OF_ROUTES = frozenset({"route_connections"})


class LinkReplies:
    """Collects what series show of links. Pass all to `take`, then call `replies`.

    A gateway has metrics only while it is connected: without any, it is not known if the exporter reads them. Of leaf
    nodes there is a count even if it is zero. Only nats-surveyor names the other end of a route.
    """

    def __init__(self) -> None:
        self._gateway_name = ""
        self._outbound: dict[str, dict[str, bool]] = {}
        self._inbound: dict[str, list[dict[str, bool]]] = {}
        self._leafs: list[dict[str, str]] = []
        self._counts: dict[str, int] = {}
        self._routes: list[dict[str, str]] = []

    def take(self, known: str, series: MetricSeries, value: float) -> None:
        """Take a series of a link, or with a number of links."""
        remote = series.label("remote_gateway_name")
        if known.startswith("gatewayz_") and remote:
            self._gateway_name = series.label("gateway_name")
            if known == "gatewayz_outbound_gateway_configured":
                self._outbound[remote] = {"configured": bool(value)}
            else:
                self._inbound.setdefault(remote, []).append({"configured": bool(value)})
        elif known == "leafz_info":
            self._leafs.append(
                {"name": series.label("name"), "account": series.label("account"), "ip": series.label("ip")}
            )
        elif known == "core_route_pending_bytes":
            self._routes.append({"remote_name": series.label("server_route_name")})
        else:
            self._counts[known] = int(value)

    def replies(self) -> Iterator[tuple[Endpoint, dict[str, Any], frozenset[str]]]:
        """Each reply that can be made again, and which of its fields no metric shows."""
        if self._outbound or self._inbound:
            gateways = {"name": self._gateway_name, "outbound_gateways": self._outbound}
            yield Endpoint.GATEWAYZ, gateways | {"inbound_gateways": self._inbound}, frozenset()
        if "leafz_conn_nodes_total" in self._counts:
            yield Endpoint.LEAFZ, {"leafs": self._leafs}, UNSEEN_OF_LEAFS
        if (count := self._route_count()) is not None:
            named = len(self._routes) == count and all(route["remote_name"] for route in self._routes)
            unseen = UNSEEN_OF_ROUTES if named else UNSEEN_OF_ROUTES | {"routes"}
            yield Endpoint.ROUTEZ, {"num_routes": count, "routes": self._routes if named else []}, unseen

    def _route_count(self) -> int | None:
        names = ("routez_num_routes", "varz_routes", "core_route_count")
        return next((self._counts[name] for name in names if name in self._counts), None)


_JSZ_PARTS = frozenset({"", "config", "api", "meta_cluster"})
_VARZ_PARTS = frozenset({"", "slow_consumer_stats", "cluster"})


UNREACHABLE = "unreachable"
"""What `healthz` of prometheus-nats-exporter shows of a server that does not respond to it."""


def replies_in(series: Iterable[MetricSeries]) -> list[RecognisedDocument]:
    """The replies of every server. Each series must have one point: its value at the time of the sample.

    Servers that their exporter does not reach are left out. If two exporters show one server, the one with more series
    is used.
    """
    views: dict[tuple[str, str], list[tuple[str, MetricSeries]]] = {}
    known_series = [
        (known, metric_series)
        for metric_series in series
        if (known := names.known_name(metric_series.name)) and metric_series.points
    ]
    by_id = names_by_id(series for _, series in known_series)
    unreachable = {
        (series.label("instance"), series.label("server_id"))
        for known, series in known_series
        if known == names.HEALTH and series.label("value") == UNREACHABLE
    }
    for known, metric_series in known_series:
        source = metric_series.label("instance")
        if (source, metric_series.label("server_id")) in unreachable:
            continue  # its exporter repeats the last variables that it got (prometheus-nats-exporter collector.go)
        name = (
            metric_series.label("server_name")
            or by_id.get((source, metric_series.label("server_id")), "")
            or metric_series.label("server_id")
        )
        views.setdefault((name, source), []).append((known, metric_series))
    best: dict[str, list[tuple[str, MetricSeries]]] = {}
    for (name, _), view in sorted(views.items()):
        if len(view) > len(best.get(name, ())):
            best[name] = view
    return [reply for name, view in best.items() for reply in _ServerView(name, view).replies()]


def names_by_id(series: Iterable[MetricSeries]) -> dict[tuple[str, str], str]:
    """The names of servers by the instance of their exporter and by the id that it gives them, which may be a URL."""
    return {
        (metric_series.label("instance"), metric_series.label("server_id")): metric_series.label("server_name")
        for metric_series in series
        if metric_series.label("server_name") and metric_series.label("server_id")
    }


class _ServerView:
    """The replies that the series of one server give."""

    def __init__(self, name: str, series: Sequence[tuple[str, MetricSeries]]) -> None:
        self._name = name
        self._at = datetime.fromtimestamp(max(metric_series.points[-1][0] for _, metric_series in series), UTC)
        self._jsz: dict[str, Any] = {}
        self._varz: dict[str, Any] = {}
        self._health: dict[str, Any] = {}
        self._cluster: str | None = None
        self._assets = AssetReplies(name, self._at)
        self._links = LinkReplies()
        for known, metric_series in series:
            value = metric_series.points[-1][1]
            if math.isfinite(value):
                self._take(known, metric_series, value)

    def _take(self, known: str, series: MetricSeries, value: float) -> None:
        if path := names.OF_JETSTREAM.get(known):
            put(self._jsz, path, bool(value) if path == ("disabled",) else int(value))
        elif known in names.OF_LINKS:
            self._links.take(known, series, value)
        elif path := names.OF_VARZ.get(known):
            put(self._varz, path, value if path == ("cpu",) else int(value))
        elif known in names.TIMES_OF_VARZ:
            field, unit = names.TIMES_OF_VARZ[known]
            if value > 0 and (moment := _shifted(datetime(1970, 1, 1, tzinfo=UTC), value * unit)):
                self._varz[field] = moment.isoformat()
        elif known in names.VERSIONS:
            self._varz["version"] = series.label(names.VERSIONS[known])
        elif known in (names.HEALTH, names.HEALTH_OLD):
            self._take_health(known, series, value)
        else:
            self._assets.take(known, series, value)
        # The name of the cluster: of a server outside of any, `cluster` is a label of the target, if of anything.
        clustered = series.label("meta_leader") or series.label("is_meta_leader") == "false"
        own = series.label("exported_cluster", "cluster") if clustered else ""
        if cluster := own or series.label("server_cluster", "cluster_name"):
            self._cluster = cluster
        if known in names.OF_JETSTREAM or known in names.OF_STREAM:
            self._take_meta(series)

    def _take_health(self, known: str, series: MetricSeries, value: float) -> None:
        if known == names.HEALTH_OLD:
            self._health.setdefault("status", "ok" if value == 0 else "unavailable")
        elif value == 1:
            self._health["status"] = series.label("value")

    def _take_meta(self, series: MetricSeries) -> None:
        """The meta group's name and leader, where the labels have both: no `meta_leader` beside a cluster is none.

        Prometheus renames a label that the target has, too: many set `cluster`, of a server outside of any as well.
        """
        cluster = series.label("exported_cluster", "cluster")
        if series.label("is_meta_leader") == "true" and not series.label("meta_leader"):
            self._jsz["meta_cluster"] = None  # a server outside of any cluster
            self._cluster = ""
        elif series.label("is_meta_leader") and cluster:
            put(self._jsz, ("meta_cluster", "name"), cluster)
            put(self._jsz, ("meta_cluster", "leader"), series.label("meta_leader"))
        elif series.label("cluster_name"):  # nats-surveyor: in a cluster, whose leader these labels do not name
            put(self._jsz, ("meta_cluster", "name"), series.label("cluster_name"))
        if domain := series.label("domain"):
            put(self._jsz, ("config", "domain"), domain)

    def replies(self) -> Iterator[RecognisedDocument]:
        """The replies, as far as there are metrics of them."""
        started = self._varz.get("start")
        server_id = f"{self._name}@{started}" if started else self._name
        common = {"server_id": server_id, "now": self._at.isoformat()}
        if self._varz:
            varz = {**self._varz, **common, "server_name": self._name}
            if self._cluster is not None:
                varz["cluster"] = {"name": self._cluster}
            unseen = unseen_fields(varz, Varz, _VARZ_PARTS)
            yield RecognisedDocument(Endpoint.VARZ, Access.PASTED, varz, self._name, unseen=unseen)
        accounts = self._assets.accounts()
        if self._jsz or accounts:
            jsz = {"config": {}, **self._jsz, **common}
            if accounts:
                jsz["account_details"] = accounts
            # A server outside a cluster has no meta group; if the labels do not show it, it is unknown.
            unseen = unseen_fields(jsz, JszReply, _JSZ_PARTS)
            hidden = unseen if started else unseen | {"server_id"}
            yield RecognisedDocument(
                *(Endpoint.JSZ, Access.PASTED, jsz, self._name),
                unseen=hidden,
                inside=self._assets.hidden(),
                is_of_metrics=True,
                shows_usage=self._assets.shows_usage,
            )
        for endpoint, reply, unseen in self._links.replies():
            yield RecognisedDocument(endpoint, Access.PASTED, {**reply, **common}, self._name, unseen=unseen)
        if self._health:
            yield RecognisedDocument(Endpoint.HEALTHZ, Access.PASTED, self._health, self._name)


def _shifted(moment: datetime, seconds: float) -> datetime | None:
    """None: that is no date of a calendar, and so no value of a server."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return None
