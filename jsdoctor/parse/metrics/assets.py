"""Accounts, streams and consumers that one server's metrics show, nested as in `/jsz`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.parse.metrics import names
from jsdoctor.parse.metrics.series import MetricSeries
from jsdoctor.parse.unseen import unseen_fields

Asset = tuple[str, str, str]
"""Account, stream, and the consumer's name; empty for the stream itself."""

_STREAM_PARTS = frozenset({"", "config", "state"})
_CONSUMER_PARTS = frozenset({"", "config", "delivered", "ack_floor"})
_MAX = 2**63


class AssetReplies:
    """Collects what series show of assets. Pass them to `take`, then read the rest."""

    def __init__(self, server: str, at: datetime) -> None:
        self._server, self._at = server, at
        self._accounts: dict[str, dict[str, Any]] = {}
        self._streams: dict[Asset, dict[str, Any]] = {}
        self._consumers: dict[Asset, dict[str, Any]] = {}
        self._tells_ages = False

    def take(self, known: str, series: MetricSeries, value: float) -> None:
        """A series of an account, a stream or a consumer; one without the labels that name it is passed over."""
        account, stream = series.label("account_name", "account"), series.label("stream_name", "stream")
        if known in names.OF_ACCOUNT:
            detail = self._accounts.setdefault(account, {"name": account, "id": series.label("account_id")})
            put(detail, names.OF_ACCOUNT[known], int(value))
            return
        if not stream or not -1 <= value < _MAX:
            return
        name = series.label("consumer_name")
        if known in names.OF_STREAM:
            value_of = self._stream(account, stream, series)
            put(value_of, names.OF_STREAM[known], int(value))
        elif name and (known in names.OF_CONSUMER or known in names.AGES_OF_CONSUMER):
            consumer = self._consumer(account, stream, name, series)
            if path := names.OF_CONSUMER.get(known):
                put(consumer, path, int(value))
            else:
                self._tells_ages = True
                moment = self._at - timedelta(seconds=value)
                put(consumer, names.AGES_OF_CONSUMER[known], moment.isoformat())

    def _stream(self, account: str, stream: str, series: MetricSeries) -> dict[str, Any]:
        made = self._streams.setdefault((account, stream, ""), {"config": {"name": stream}, "state": {}})
        self._place(made, series, "stream")
        return made

    def _consumer(self, account: str, stream: str, name: str, series: MetricSeries) -> dict[str, Any]:
        key = (account, stream, name)
        made = self._consumers.setdefault(key, {"stream_name": stream, "name": name, "config": {}})
        self._place(made, series, "consumer")
        return made

    def _place(self, made: dict[str, Any], series: MetricSeries, kind: str) -> None:
        """Set the leader: a label names it, or shows at least whether it is this server.

        A cluster's name without a leader's name is no leader, or a server outside of any cluster, which then reports
        that it leads itself (prometheus-nats-exporter) or has no cluster (nats-surveyor).
        """
        leader, own = series.label(f"{kind}_leader"), series.label(f"is_{kind}_leader")
        if leader:
            made["cluster"] = {"leader": leader}
        elif own == "false" or (not own and series.label("cluster_name")):
            made["cluster"] = {"leader": ""}
        elif own == "true":
            made["cluster"] = None  # a server outside of any cluster

    def accounts(self) -> list[dict[str, Any]]:
        """`account_details` of `/jsz`. A stream has no list of consumers if no metric shows them."""
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
        """For every stream and consumer the fields that no metric shows."""
        hidden_assets = {key: _of_stream(value) for key, value in self._streams.items()}
        for key, value in self._consumers.items():
            if self._tells_ages:
                # This exporter shows when a consumer last delivered; for one that never did, there is no series.
                for pair in ("delivered", "ack_floor"):
                    if pair in value:
                        value[pair].setdefault("last_active", None)
            hidden_assets[key] = _of_consumer(value)
        return hidden_assets

    @property
    def shows_usage(self) -> bool:
        """Whether metrics show the storage of every account with streams."""
        return bool(self._accounts) and {account for account, _, _ in self._streams} <= self._accounts.keys()


def _of_stream(value: Mapping[str, Any]) -> frozenset[str]:
    # The leader's name separates copies; no metric shows the other members.
    shown = {key: part for key, part in value.items() if key != "cluster" or part is None}
    always = {"account", "domain", "name", "at", "answered_by", "has_leader", "from_leader", "consumers"}
    return unseen_fields(shown, Stream, _STREAM_PARTS) - always - {"consumers_seen"}


def _of_consumer(value: Mapping[str, Any]) -> frozenset[str]:
    shown = {key: part for key, part in value.items() if key != "cluster" or part is None}
    always = {"account", "stream", "name", "at", "answered_by", "has_leader", "from_leader"}
    return unseen_fields(shown, Consumer, _CONSUMER_PARTS) - always


def put(value: dict[str, Any], path: tuple[str, ...], content: object) -> None:
    """Set a value at a path, with the objects on the way to it."""
    for key in path[:-1]:
        value = value.setdefault(key, {})
    value[path[-1]] = content
