"""Metrics of links, as exporters name and label them, become the replies that they were made from."""

from typing import Any

import pytest

from jsdoctor.metrics.replies import replies_in
from jsdoctor.metrics.samples import Moment, evidence_of, sample_at, unreachable_servers
from jsdoctor.metrics.series import MetricSeries
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.partial import NotShownError

URL = "http://localhost:8222"
NAMED = {"server_id": URL, "server_name": "n1", "cluster": "C", "meta_leader": "n2", "is_meta_leader": "false"}
EXPORTER: list[tuple[str, dict[str, str], float]] = [
    ("jetstream_server_total_streams", NAMED, 0),
    ("gnatsd_varz_mem", {"server_id": URL}, 1),
    ("gnatsd_varz_routes", {"server_id": URL}, 8),
    ("gnatsd_leafz_conn_nodes_total", {"server_id": URL}, 1),
    ("gnatsd_leafz_info", {"server_id": URL, "account": "APP", "name": "site", "ip": "10.0.0.9"}, 1),
    (
        "gnatsd_gatewayz_outbound_gateway_configured",
        {"server_id": URL, "gateway_name": "C", "cid": "7", "remote_gateway_name": "east"},
        1,
    ),
]
SURVEYOR: list[tuple[str, dict[str, str], float]] = [
    ("nats_core_mem_bytes", {"server_cluster": "C", "server_name": "n1", "server_id": "NA"}, 1),
    ("nats_core_route_count", {"server_cluster": "C", "server_name": "n1", "server_id": "NA"}, 2),
    *(
        (
            "nats_core_route_pending_bytes",
            {"server_cluster": "C", "server_name": "n1", "server_id": "NA", "server_route_name": peer},
            0,
        )
        for peer in ("n2", "n3")
    ),
]


def moment(rows: list[tuple[str, dict[str, str], float]]) -> Moment:
    series = (MetricSeries(name, {"instance": "h:7777", **labels}, ((1.7e9, value),)) for name, labels, value in rows)
    return Moment(1.7e9, tuple(series))


def links_of(rows: list[tuple[str, dict[str, str], float]]) -> ServerLinks:
    by_server = evidence_of([sample_at(moment(rows))]).for_checks().get(Links)
    assert by_server is not None
    [links] = by_server.servers
    return links


@pytest.mark.parametrize("read", [lambda links: links.routes, lambda links: links.leafs[0].is_spoke])
def test_what_no_label_shows_cannot_be_read(read: Any) -> None:
    with pytest.raises(NotShownError):
        read(links_of(EXPORTER))


def test_routes_of_nats_surveyor_have_names() -> None:
    links = links_of(SURVEYOR)
    assert (links.routes, links.route_count, links.leafs, links.gateways) == (("n2", "n3"), 2, None, None)


def test_routes_that_are_not_all_named_are_not_shown() -> None:
    with pytest.raises(NotShownError):
        assert links_of(SURVEYOR[:-1]).routes


def test_a_server_that_its_exporter_does_not_reach_is_left_out() -> None:
    """The exporter repeats the last variables that it got."""
    down = moment([*EXPORTER[1:3], ("gnatsd_healthz_status_value", {"server_id": URL, "value": "unreachable"}, 0)])
    assert replies_in(down.series) == []
    [gap] = unreachable_servers([moment(EXPORTER)], down)
    assert (gap.subject.name, gap.requested) == ("n1", True)
