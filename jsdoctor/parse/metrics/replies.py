"""Series of one moment as the replies of servers that they were made from, with the fields that they do not show.

An exporter flattens `/varz`, `/jsz`, `/healthz` and others into metrics. Here they become those replies again, one set
for each server: followers' copies of an asset stay apart from the leader's, and accounts stay apart from each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.server import Varz
from jsdoctor.parse.metrics import names
from jsdoctor.parse.metrics.assets import AssetReplies, put
from jsdoctor.parse.metrics.links import LinkReplies
from jsdoctor.parse.metrics.series import MetricSeries
from jsdoctor.parse.pasted.found import RecognisedDocument
from jsdoctor.parse.replies import JszReply
from jsdoctor.parse.unseen import unseen_fields

_JSZ_PARTS = frozenset({"", "config", "api", "meta_cluster"})
_VARZ_PARTS = frozenset({"", "slow_consumer_stats", "cluster"})


UNREACHABLE = "unreachable"
"""What `healthz` of prometheus-nats-exporter shows of a server that does not respond to it."""


def replies_in(series: Iterable[MetricSeries]) -> list[RecognisedDocument]:
    """The replies of every server. Each series must have one point: its value at the time of the sample.

    Without those that their exporter does not reach. If two exporters show one server, the one with more series is
    used.
    """
    views: dict[tuple[str, str], list[tuple[str, MetricSeries]]] = {}
    every = [
        (known, metric_series)
        for metric_series in series
        if (known := names.known_name(metric_series.name)) and metric_series.points
    ]
    by_id = names_by_id(series for _, series in every)
    unreachable = {
        (series.label("instance"), series.label("server_id"))
        for known, series in every
        if known == names.HEALTH and series.label("value") == UNREACHABLE
    }
    for known, metric_series in every:
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
    for (name, _), item in sorted(views.items()):
        if len(item) > len(best.get(name, ())):
            best[name] = item
    return [reply for name, item in best.items() for reply in _ServerView(name, item).replies()]


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
            if value > 0:
                self._varz[field] = _time(value * unit)
        elif known in names.VERSIONS:
            self._varz["version"] = series.label(names.VERSIONS[known])
        elif known in (names.HEALTH, names.HEALTH_OLD):
            self._take_health(known, series, value)
        else:
            self._assets.take(known, series, value)
        self._take_labels(series)
        if known in names.OF_JETSTREAM or known in names.OF_STREAM:
            self._take_meta(series)

    def _take_health(self, known: str, series: MetricSeries, value: float) -> None:
        if known == names.HEALTH_OLD:
            self._health.setdefault("status", "ok" if value == 0 else "unavailable")
        elif value == 1:
            self._health["status"] = series.label("value")

    def _take_labels(self, series: MetricSeries) -> None:
        """The name of the cluster: of a server outside of any, `cluster` is a label of the target, if of anything."""
        clustered = series.label("meta_leader") or series.label("is_meta_leader") == "false"
        own = series.label("exported_cluster", "cluster") if clustered else ""
        if cluster := own or series.label("server_cluster", "cluster_name"):
            self._cluster = cluster

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


def _time(seconds: float) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat()
