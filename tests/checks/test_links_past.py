"""Links that were there and are gone, by samples of the past: real servers of which single links are taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

import msgspec
import pytest

from jsdoctor.checks.cluster_health.gateway_down import gateway_down_history
from jsdoctor.checks.cluster_health.hub_lost import leaf_lost_history
from jsdoctor.checks.cluster_health.route_missing import route_missing_history
from jsdoctor.checks.server_health.server_restarted import restarted_history
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.links import Gateway, Leaf, Links, ServerLinks
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.server_past import PastSample, ServerPast
from jsdoctor.parse.assemble import assemble
from tests.evidence import samples_of

Change = Callable[[ServerLinks], ServerLinks]


def sample(change: Change = lambda links: links, *, without: Iterable[str] = (), started: int = 0) -> PastSample:
    """The servers of a recording, their links changed. `started`: so many hours later than it was."""
    evidence = assemble(samples_of("three-nodes-2.15.1")[:1])
    servers, links = evidence.get(Servers), evidence.get(Links)
    assert isinstance(servers, Servers)
    assert isinstance(links, Links)
    kept = [_started(server, started) for server in servers.servers if server.name not in without]
    shown = tuple(change(server_links) for server_links in links.servers if server_links.server not in without)
    return PastSample(kept[0].at, tuple(kept), shown)


def _started(server: Server, hours: int) -> Server:
    assert server.varz
    assert server.varz.start
    start = server.varz.start + timedelta(hours=hours)
    loaded = (server.varz.config_load_time or server.varz.start) + timedelta(hours=hours)
    varz = msgspec.structs.replace(server.varz, start=start, config_load_time=loaded)
    return msgspec.structs.replace(server, varz=varz)


def outcomes(findings: Iterable[Finding]) -> dict[str, Outcome]:
    return {finding.subject.label: finding.outcome for finding in findings}


def fewer_routes(*names: str, **left: int) -> Change:
    """Eight connections, but four of those servers, and so many of others."""
    counts = dict.fromkeys(names, 4) | left
    return lambda links: msgspec.structs.replace(links, route_count=counts.get(links.server, 8))


def leafs(count: int, server: str = "n1") -> Change:
    connected = tuple(Leaf(name=f"site{number}", account="APP") for number in range(count))
    return lambda links: msgspec.structs.replace(links, leafs=connected if links.server == server else ())


def gateways(*remotes: str, configured: bool = True) -> Change:
    connected = tuple(Gateway(remote, configured, outbound=True) for remote in remotes)
    return lambda links: msgspec.structs.replace(links, gateways=connected if links.server == "n1" else ())


WHOLE = sample(fewer_routes())
[CLUSTER] = {"cluster"}


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([WHOLE] * 5, {CLUSTER: Outcome.PASS}),
        ([WHOLE] * 3 + [sample(fewer_routes("n1", "n3"))] * 2, {CLUSTER: Outcome.FAIL}),
        ([WHOLE] * 2 + [sample(fewer_routes("n1", "n3"))] * 9, {CLUSTER: Outcome.FAIL}),
        ([WHOLE] * 3 + [sample(fewer_routes("n1", "n2", "n3"))] * 2, {CLUSTER: Outcome.NOT_EVALUATED}),
        ([WHOLE] * 3 + [sample(fewer_routes("n2", "n3", n1=0))] * 2, {CLUSTER: Outcome.FAIL}),
        ([WHOLE] * 3 + [sample(fewer_routes("n2", "n3", n1=1))] * 2, {CLUSTER: Outcome.FAIL}),
        ([WHOLE] * 4 + [sample(fewer_routes("n1", "n3"))], {CLUSTER: Outcome.PASS}),
        ([WHOLE] + [sample(fewer_routes("n1", "n3"))] * 4, {CLUSTER: Outcome.PASS}),
        ([WHOLE] * 3 + [sample(fewer_routes("n1", "n2"), without=["n3"])] * 2, {CLUSTER: Outcome.NOT_EVALUATED}),
        ([WHOLE] * 3 + [sample(fewer_routes("n1", "n3"), started=1)] * 2, {}),
    ],
    ids=[
        "all",
        "a pair",
        "for long",
        "all fewer",
        "alone",
        "tries",
        "missed once",
        "had once",
        "one gone",
        "restarted",
    ],
)
def test_a_route_that_is_gone(samples: list[PastSample], expected: dict[str, Outcome]) -> None:
    assert outcomes(route_missing_history(ServerPast(tuple(samples)))) == expected


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([sample(leafs(2))] * 5, {"n1": Outcome.PASS}),
        ([sample(leafs(2))] * 3 + [sample(leafs(1))] * 2, {"n1": Outcome.FAIL}),
        ([sample(leafs(2))] * 3 + [sample(leafs(2, "n2"))] * 2, {"n1": Outcome.PASS}),
        ([sample(leafs(2))] * 4 + [sample(leafs(1))], {"n1": Outcome.PASS}),
        ([sample(leafs(2))] * 3 + [sample(leafs(0), started=1)] * 2, {}),
        ([sample(leafs(0))] * 5, {}),
    ],
    ids=["all", "one less", "moved", "missed once", "restarted", "none"],
)
def test_a_leaf_node_that_is_gone(samples: list[PastSample], expected: dict[str, Outcome]) -> None:
    assert outcomes(leaf_lost_history(ServerPast(tuple(samples)))) == expected


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([sample(gateways("east"))] * 4, {CLUSTER: Outcome.PASS}),
        ([sample(gateways("east", "west"))] * 2 + [sample(gateways("east"))] * 2, {CLUSTER: Outcome.FAIL}),
        ([sample(gateways("east"))] * 3 + [sample(gateways())], {CLUSTER: Outcome.PASS}),
        ([sample(gateways("east", configured=False))] * 2 + [sample(gateways())] * 2, {}),
        ([sample(gateways("east"))] * 2 + [sample(gateways(), started=1)] * 2, {}),
    ],
    ids=["all", "one less", "missed once", "only learned", "restarted"],
)
def test_a_gateway_that_is_gone(samples: list[PastSample], expected: dict[str, Outcome]) -> None:
    assert outcomes(gateway_down_history(ServerPast(tuple(samples)))) == expected


@pytest.mark.parametrize(
    ("starts", "severity"),
    [
        ([0, 0, 0], None),
        ([0, 0, 1], "info"),
        ([0, 1, 2], "info"),
        ([0, 1, 2, 3], "loud"),
        ([-90, -3, -2, -1], "loud"),
        ([-90, -60, -40, -30, -1, 0], "info"),
    ],
)
def test_starts_over_hours(starts: list[int], severity: str | None) -> None:
    past = ServerPast(tuple(sample(started=hours) for hours in starts))
    findings = list(restarted_history(past))
    assert {finding.subject.name for finding in findings} == {"n1", "n2", "n3"}
    for finding in findings:
        if severity is None:
            assert finding.outcome is Outcome.PASS
        else:
            assert (finding.severity.value if finding.severity else "loud") == severity
