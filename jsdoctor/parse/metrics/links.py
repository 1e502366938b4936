"""Gateways, leaf nodes and routes of one server's metrics, as `/gatewayz`, `/leafz` and `/routez` list them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsdoctor.model.exchange import Endpoint
from jsdoctor.parse.metrics.series import MetricSeries

UNSEEN_OF_LEAFS = frozenset({"leafs.is_spoke"})
UNSEEN_OF_ROUTES = frozenset({"route_connections"})


class LinkReplies:
    """Collects what series say of links. Feed it with `take`, then read the rest.

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
        """A series of a link, or a number of links."""
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
