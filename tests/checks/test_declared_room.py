"""How many servers and how much room declared streams will find, by what is deployed and what the manifests declare."""

from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.checks.declared.deployed import Deployed, release_for
from jsdoctor.checks.declared.stream_resources import ServerCount, declared_size, servers_for
from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import DeclaredServers, DeclaredStream, FilePosition, Manifests, Tool
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, UnresponsiveAsset
from tests.support.evidence import evidence_of

PLACE = FilePosition("s.yaml", 1, 1)


def recorded(base: str) -> tuple[SnapshotSeries, Servers]:
    evidence = evidence_of({"base": base})
    snapshots, servers = evidence.get(SnapshotSeries), evidence.get(Servers)
    assert snapshots is not None
    assert servers is not None
    return snapshots, servers


SNAPSHOTS, THREE = recorded("three-nodes-2.15.1")
SINGLE, ONE = recorded("one-node-2.15.1")


def declared(what: str = "server configuration", unclear: tuple[str, ...] = (), **settings: Any) -> DeclaredServers:
    return DeclaredServers(what=what, place=PLACE, settings=settings, unclear=frozenset(unclear))


@pytest.mark.parametrize(
    ("servers", "size"),
    [
        (declared(servers=3), None),
        (declared(jetstream=False, servers=3), None),
        (declared(jetstream=True), 1),
        (declared(jetstream=True, servers=3), 1),
        (declared(jetstream=True, clustered=True, servers=3), 3),
        (declared(jetstream=True, clustered=True), None),
        (declared(jetstream=True, unclear=("clustered",)), None),
        (declared("Helm values", jetstream=True, servers=5), 5),
        (declared("Helm values", jetstream=True), None),
    ],
)
def test_a_configuration_tells_how_many_servers_it_makes(servers: DeclaredServers, size: int | None) -> None:
    assert declared_size(servers) == size


def count(
    snapshots: SnapshotSeries | None = None, servers: Servers | None = None, connected: ConnectedServer | None = None
) -> ServerCount:
    return servers_for(Manifests(), snapshots, servers, connected)


def test_a_server_without_a_cluster_is_one() -> None:
    single = ServerCount(1, 1, "there is one server, which is no cluster")
    assert count(servers=replace(ONE, complete=True)) == single
    assert count(servers=replace(ONE, complete=False)) == ServerCount(None, None, "")
    assert count(servers=replace(ONE, complete=True, servers=ONE.servers * 2)) == ServerCount(None, None, "")
    assert count(connected=ConnectedServer(jetstream=True)) == single
    assert count(connected=ConnectedServer()) == ServerCount(None, None, "")


def test_replicas_and_addresses_show_how_many_servers_there_are_at_least() -> None:
    assert count(snapshots=SNAPSHOTS) == ServerCount(None, 3, "there are at least 3 servers")
    assert count(snapshots=SINGLE) == ServerCount(None, None, "")
    urls = tuple(f"10.0.0.1:{number}" for number in range(4222, 4227))
    clustered = ConnectedServer(cluster="C", jetstream=True, connect_urls=urls)
    assert count(snapshots=SNAPSHOTS, connected=clustered) == ServerCount(None, 5, "there are at least 5 servers")
    assert count(connected=replace(clustered, connect_urls=urls[:2])).least == 2
    assert count(connected=replace(clustered, connect_urls=urls[:1])) == ServerCount(None, None, "")
    interfaces = ("10.0.0.1:4222", "172.17.0.1:4222", "[2001:db8::1]:4222")
    assert count(connected=replace(clustered, connect_urls=interfaces)) == ServerCount(None, None, "")


def stream(name: str, **settings: Any) -> DeclaredStream:
    config = StreamConfig(name=name, subjects=(f"{name}.>",))
    return DeclaredStream(tool=Tool.NACK, what=name, place=PLACE, config=config, places={}, **settings)


def deployed(*accounts: str) -> Deployed:
    """ORDERS in each of these accounts."""
    orders = next(candidate for candidate in SNAPSHOTS.last.led_streams() if candidate.name == "ORDERS")
    streams = tuple(replace(orders, account=account) for account in accounts)
    return Deployed(replace(SNAPSHOTS, snapshots=(replace(SNAPSHOTS.last, streams=streams),)))


def test_a_name_in_several_accounts_may_mean_any_of_them() -> None:
    doubt = deployed("SHOP", "APP").doubt(stream("ORDERS"), "ORDERS")
    assert doubt is not None
    assert doubt.message == (
        "several accounts have a stream ORDERS (APP, SHOP), and the manifest does not name the account"
    )
    assert doubt.how_to_get == "use a login of the account that it is for"
    assert deployed("SHOP", "APP").stream("ORDERS") is None
    assert deployed("APP").doubt(stream("ORDERS"), "ORDERS") is None
    assert deployed("APP").doubt(stream("NEW"), "NEW") is None


@pytest.mark.parametrize(
    "subject",
    [
        Subject(kind="stream", name="ORDERS", account="APP"),
        Subject(kind="consumer", name="billing", account="APP", stream="ORDERS"),
    ],
)
def test_a_stream_that_only_its_cluster_knows_is_in_doubt(subject: Subject) -> None:
    last = replace(SNAPSHOTS.last, streams=(), silent=(UnresponsiveAsset(subject, ""),))
    there = Deployed(replace(SNAPSHOTS, snapshots=(last,)))
    assert there.doubt(stream("ORDERS"), "ORDERS") is not None
    assert there.doubt(stream("billing"), "billing") is None


def test_the_account_is_the_only_one_with_streams_or_with_these_names() -> None:
    assert deployed().account_of(["ORDERS"]) == ""
    assert deployed("APP").account_of(["NEW"]) == "APP"
    assert deployed("APP", "$SYS").account_of(["NEW"]) == "APP"
    assert deployed("APP", "SHOP").account_of(["NEW"]) is None
    assert deployed("APP", "SHOP").account_of(["ORDERS"]) is None
    orders = next(candidate for candidate in SNAPSHOTS.last.led_streams() if candidate.name == "ORDERS")
    streams = (replace(orders, account="APP"), replace(orders, account="SHOP", name="OTHER"))
    both = Deployed(replace(SNAPSHOTS, snapshots=(replace(SNAPSHOTS.last, streams=streams),)))
    assert both.account_of(["ORDERS"]) == "APP"
    assert both.account_of(["ORDERS", "OTHER"]) is None


def test_the_release_is_that_of_the_leader_else_the_one_that_all_have() -> None:
    orders = next(candidate for candidate in SNAPSHOTS.last.led_streams() if candidate.name == "ORDERS")
    assert release_for(orders, THREE, None) == (2, 15, 1)
    assert release_for(None, THREE, None) == (2, 15, 1)
    first, *others = THREE.servers
    mixed = replace(THREE, servers=(replace(first, version="2.12.8"), *others))
    assert release_for(None, mixed, None) == ()
    assert release_for(None, mixed, ConnectedServer(version="2.10.26")) == (2, 10, 26)
    assert release_for(None, None, None) == ()
