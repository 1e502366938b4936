"""Links that were there and are gone, by samples of the past: real servers of which single links are taken away."""

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
from jsdoctor.replies.assemble import assemble
from tests.support.evidence import samples_of

Change = Callable[[ServerLinks], ServerLinks]


def sample(change: Change = lambda links: links, *, without: Iterable[str] = (), started: int = 0) -> PastSample:
    """The servers of a recording, their links changed. `started`: so many hours later than it was."""
    evidence = assemble(samples_of("three-nodes-2.15.1")[:1])
    servers, links = evidence.get(Servers), evidence.get(Links)
    assert servers is not None
    assert links is not None
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


def fewer_routes(*names: str, named: bool = False, **left: int) -> Change:
    """Eight connections, but four of those servers, and so many of others. `named`: with the names of their servers."""
    counts = dict.fromkeys(names, 4) | left

    def change(links: ServerLinks) -> ServerLinks:
        routes = ("n1", "n2", "n3") if named else ()
        return msgspec.structs.replace(links, route_count=counts.get(links.server, 8), routes=routes)

    return change


def spread(**counts: int) -> Change:
    """So many leaf nodes of one account on each of these servers, and none on others."""
    return lambda links: msgspec.structs.replace(
        links, leafs=tuple(Leaf(name="site", account="APP") for _ in range(counts.get(links.server, 0)))
    )


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
        ([WHOLE] + [sample(fewer_routes("n1", "n3"))] * 4, {CLUSTER: Outcome.NOT_EVALUATED}),
        ([sample(fewer_routes(n1=0, n2=0, n3=0))] * 5, {CLUSTER: Outcome.NOT_EVALUATED}),
        ([WHOLE] + [sample(fewer_routes("n1", "n3", named=True))] * 4, {CLUSTER: Outcome.PASS}),
        ([sample(fewer_routes("n2", "n3", n1=0))] * 5, {CLUSTER: Outcome.NOT_EVALUATED}),
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
        "none for long",
        "had once and named",
        "alone for long",
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
        (
            [sample(spread(n1=1, n2=1))] * 3 + [sample(spread(n3=1))] * 2,
            {"n1": Outcome.PASS, "n2": Outcome.FAIL},
        ),
    ],
    ids=["all", "one less", "moved", "missed once", "restarted", "none", "one of two moved"],
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


def moved(samples: Iterable[PastSample], every: timedelta = timedelta(hours=1)) -> list[PastSample]:
    """The same samples, one after the other in time."""
    return [_at(taken, number * every) for number, taken in enumerate(samples)]


def _at(taken: PastSample, later: timedelta) -> PastSample:
    links = tuple(msgspec.structs.replace(shown, at=shown.at + later) for shown in taken.links)
    return PastSample(taken.at + later, taken.servers, links)


def in_clusters(taken: PastSample, clusters: dict[str, str]) -> PastSample:
    """The servers of those names in those clusters."""
    servers = tuple(
        msgspec.structs.replace(server, cluster=clusters.get(server.name, server.cluster)) for server in taken.servers
    )
    return PastSample(taken.at, servers, taken.links)


def named_leafs(*names_and_accounts: tuple[str, str]) -> Change:
    """Leaf nodes of those names and accounts at n1, none elsewhere."""
    connected = tuple(Leaf(name=name, account=account) for name, account in names_and_accounts)
    return lambda links: msgspec.structs.replace(links, leafs=connected if links.server == "n1" else ())


def test_a_server_is_apart_by_its_routes_or_by_the_size_of_the_meta_group() -> None:
    """Without any route it is; with those that it keeps trying to make, where no server of the cluster is missing."""
    without_routes = sample(fewer_routes("n2", "n3", n1=0))
    [finding] = route_missing_history(ServerPast((*[WHOLE] * 3, *[of_meta_size(without_routes, 5)] * 2)))
    assert "n1 (0 of 8), n2 (4 of 8), n3 (4 of 8)" in finding.message

    before, tries = sample(fewer_routes(n3=7)), sample(fewer_routes("n1", "n2", n3=5))
    for now, expected in (
        (tries, Outcome.FAIL),
        (of_meta_size(tries, None, "n1"), Outcome.FAIL),
        (of_meta_size(tries, 5), Outcome.NOT_EVALUATED),
    ):
        assert outcomes(route_missing_history(ServerPast((*[before] * 3, now, now)))) == {CLUSTER: expected}


def of_meta_size(taken: PastSample, size: int | None, *names: str) -> PastSample:
    """Servers of those names, or all, that show this size of their meta group, or none as JetStream is off."""
    servers = tuple(_resized(server, size) if not names or server.name in names else server for server in taken.servers)
    return PastSample(taken.at, servers, taken.links)


def _resized(server: Server, size: int | None) -> Server:
    assert server.jetstream
    assert server.meta
    meta = None if size is None else msgspec.structs.replace(server.meta, cluster_size=size)
    return msgspec.structs.replace(server, jetstream=msgspec.structs.replace(server.jetstream, meta_cluster=meta))


def test_routes_of_several_clusters() -> None:
    """A cluster of one server has no routes, one that lost a server is left open, and the others are judged."""
    apart = {"n1": "A", "n2": "B", "n3": "B"}
    whole, now = in_clusters(WHOLE, apart), in_clusters(sample(fewer_routes("n3")), apart)
    assert outcomes(route_missing_history(ServerPast((whole, whole, now, now)))) == {"B": Outcome.FAIL}
    apart = {"n1": "A", "n2": "A", "n3": "B"}
    assert outcomes(route_missing_history(ServerPast((*[in_clusters(WHOLE, apart)] * 4,)))) == {"A": Outcome.PASS}
    lost = two_clusters(sample(fewer_routes("n3"), without=["n1"]))
    whole = two_clusters(WHOLE)
    expected = {"A": Outcome.NOT_EVALUATED, "B": Outcome.FAIL}
    assert outcomes(route_missing_history(ServerPast((whole, whole, lost, lost)))) == expected
    assert outcomes(route_missing_history(ServerPast((whole, whole, whole, lost)))) == expected | {"B": Outcome.PASS}


def two_clusters(taken: PastSample) -> PastSample:
    """The servers in a cluster A, and servers just like them, but m1 for n1, in a cluster B."""
    servers = [
        msgspec.structs.replace(server, name=server.name.replace("n", "m"), cluster="B") for server in sample().servers
    ]
    others = {links.server: links for links in WHOLE.links} | {links.server: links for links in taken.links}
    links = [
        msgspec.structs.replace(shown, server=name.replace("n", "m"), cluster="B") for name, shown in others.items()
    ]
    first = in_clusters(taken, dict.fromkeys(("n1", "n2", "n3"), "A"))
    return PastSample(taken.at, (*servers, *first.servers), (*links, *first.links))


def test_a_leaf_node_without_a_name_that_is_gone() -> None:
    had, now = sample(named_leafs(("", "APP"), ("", "APP"))), sample(named_leafs(("", "APP")))
    [finding] = leaf_lost_history(ServerPast((had, had, had, now, now)))
    assert "are gone (account APP): nothing" in finding.message


def test_leaf_nodes_that_no_sample_of_the_present_shows_are_not_judged() -> None:
    def unread(links: ServerLinks) -> ServerLinks:
        return msgspec.structs.replace(links, leafs=None)

    had = sample(leafs(2))
    for present in ([sample(unread), sample(leafs(1))], [sample(leafs(1)), sample(unread)]):
        assert outcomes(leaf_lost_history(ServerPast((had, had, had, *present)))) == {}
    assert outcomes(leaf_lost_history(ServerPast((had, sample(leafs(0)), had, had)))) == {"n1": Outcome.PASS}


def test_links_that_fell_and_came_again_are_not_gone() -> None:
    few, many = sample(fewer_routes("n1")), WHOLE
    assert outcomes(route_missing_history(ServerPast((few, many, few, few, few)))) == {CLUSTER: Outcome.NOT_EVALUATED}


def test_a_server_that_ended_is_no_lost_link() -> None:
    had, ended = sample(leafs(2)), sample(leafs(0), without=["n1"])
    assert outcomes(leaf_lost_history(ServerPast((had, had, had, ended)))) == {}
    had, ended = sample(gateways("east")), sample(gateways(), without=["n1"])
    assert outcomes(gateway_down_history(ServerPast((had, had, had, ended)))) == {}


def test_a_server_that_was_missed_once_is_judged() -> None:
    had, missed = sample(gateways("east")), sample(gateways(), without=["n1"])
    assert outcomes(gateway_down_history(ServerPast((had, had, missed, had)))) == {CLUSTER: Outcome.PASS}


def test_a_server_that_shows_no_links_any_more_has_none() -> None:
    """Of gateways metrics name only those that are connected, so a server without any shows nothing."""
    had = sample(gateways("east"))
    silent = PastSample(had.at + timedelta(hours=1), had.servers, tuple(x for x in had.links if x.server != "n1"))
    [finding] = gateway_down_history(ServerPast((had, had, silent, silent)))
    [n1] = [item for item in finding.evidence if item.source == "n1"]
    assert (n1.path, n1.at) == ("outbound_gateways.east", had.servers[0].at)


@pytest.mark.parametrize(
    ("later", "expected"),
    [({}, {"n1": Outcome.FAIL}), ({"milliseconds": 999}, {"n1": Outcome.FAIL}), ({"seconds": 1}, {})],
)
def test_a_server_that_took_another_configuration(later: dict[str, float], expected: dict[str, Outcome]) -> None:
    """A reload leaves the start as it was. The other servers started at other times all along."""
    had, now = (elsewhere_started(sample(leafs(count))) for count in (2, 1))
    reloaded = _reloaded(now, timedelta(**later))
    assert outcomes(leaf_lost_history(ServerPast((had, had, had, reloaded, reloaded)))) == expected


def _reloaded(taken: PastSample, later: timedelta) -> PastSample:
    return PastSample(taken.at, tuple(_loaded(server, later) for server in taken.servers), taken.links)


def _loaded(server: Server, later: timedelta) -> Server:
    assert server.varz
    assert server.varz.start
    loaded = (server.varz.config_load_time or server.varz.start) + later
    return msgspec.structs.replace(server, varz=msgspec.structs.replace(server.varz, config_load_time=loaded))


def elsewhere_started(taken: PastSample) -> PastSample:
    """With other starts of all servers but n1, which is the last of them."""
    n1, *others = taken.servers
    return PastSample(taken.at, (*(_started(server, -24) for server in others), n1), taken.links)
