"""From a live deployment to samples: how the access is found out, how often and in what order is looked."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import nats
import pytest

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Subject
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.server import Accounts, ConnectedServer
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.connect.connection import connect
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve
from jsdoctor.sources.sampling import gather
from tests.servers import ClusterFactory
from tests.sources.conftest import StartServer
from tests.sources.looking import NET_S, NOTHING, asked, bodies, furnished, gaps, missing, seen, take_samples
from tests.sources.operator_mode import Key, Operator, creds
from tests.support.deployment import Traffic, add_stream

pytestmark = pytest.mark.real


def test_no_way_in_gives_no_samples() -> None:
    assert take_samples(None) == ()


def test_a_bad_monitoring_url_is_a_usage_problem() -> None:
    with pytest.raises(UsageProblem, match="nats"):
        take_samples(None, ["nats://host:4222"])


def test_the_greeting_is_evidence_without_the_login(shared_cluster: ClusterFactory, server_version: str) -> None:
    cluster = furnished(shared_cluster, server_version)
    samples = take_samples(cluster.url("app"))
    (greeting,) = bodies(samples[0], "CONNECT")
    assert (greeting["server_name"], greeting["version"], greeting["jetstream"]) == ("n1", server_version, True)
    connected = assemble(samples).get(ConnectedServer)
    assert connected is not None
    assert (connected.server_name, connected.version) == ("n1", server_version)
    assert "app:app" not in repr(samples)
    assert asked(samples[1])["CONNECT"] == 0


@pytest.mark.parametrize("user", ["sys", "app"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_as_many_samples_as_planned(shared_cluster: ClusterFactory, user: str, count: int) -> None:
    cluster = furnished(shared_cluster)
    samples = take_samples(cluster.url(user), plan=CollectionPlan(samples=count, interval_s=0.2))
    assert len(samples) == count
    for earlier, later in pairwise(samples):
        assert (later.taken_at - earlier.taken_at).total_seconds() >= 0.2
    assert (assemble(samples).get(Trend) is None) == (count == 1)


@pytest.mark.parametrize("user", ["sys", "app"])
def test_readings_of_a_sample_are_later_than_all_of_the_one_before(shared_cluster: ClusterFactory, user: str) -> None:
    """What lets a rule compare a consumer of one sample with its stream in the next, whatever happens meanwhile.

    A stream that took no message between the two samples is at rest: its consumers are those of the first sample.
    """
    cluster = furnished(shared_cluster, nodes=3)

    async def while_busy() -> tuple[Sample, ...]:
        async with Traffic(cluster.url("app")):
            return await asyncio.to_thread(take_samples, cluster.url(user), (), CollectionPlan(interval_s=0.0))

    series = assemble(asyncio.run(while_busy())).get(SnapshotSeries)
    assert series is not None
    first, second = (dict(_times(snapshot.streams)) for snapshot in series.snapshots)
    assert first.keys() == second.keys()
    assert len(first) > 10
    read_again = {subject: at for subject, at in second.items() if at != first[subject]}
    assert max(first.values()) < min(read_again.values())
    assert {subject.kind for subject in second.keys() - read_again.keys()} <= {"consumer"}
    for earlier, later in zip(series.snapshots[0].streams, series.snapshots[1].streams, strict=True):
        for consumer in earlier.consumers:
            assert consumer.delivered.stream_seq <= later.state.last_seq


def test_phases_are_reported(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster)
    phases: list[str] = []
    take_samples(cluster.url("app"), cluster.monitor_urls, CollectionPlan(interval_s=3), progress=phases.append)
    assert phases[0] == "finding out what this login may see"
    assert "sample 1 of 2: requesting streams" in phases
    assert "sample 2 of 2: asking the monitoring port" in phases
    assert any(phase.startswith("waiting ") for phase in phases)
    phases.clear()
    take_samples(cluster.url("sys"), plan=CollectionPlan(samples=1), progress=phases.append)
    assert phases == ["finding out what this login may see", "asking the server"]


def test_a_plan_without_parts_requests_nothing(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster)
    (of_system,) = take_samples(cluster.url("sys"), plan=NOTHING)
    assert asked(of_system) == {"CONNECT": 1}
    (of_account,) = take_samples(cluster.url("app"), plan=NOTHING)
    assert asked(of_account) == {"CONNECT": 1, "USER.INFO": 1}
    for sample in (of_system, of_account):
        assert assemble([sample]).get(SnapshotSeries) is None


def test_without_the_streams_no_snapshot_claims_that_there_are_none(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster)
    plan = CollectionPlan(samples=1, assets=False, consumers=False)
    for url, monitors in ((cluster.url("sys"), []), (None, cluster.monitor_urls)):
        assert assemble(take_samples(url, monitors, plan)).get(SnapshotSeries) is None


def test_a_system_login_without_permission_to_request_is_a_gap(start_server: StartServer) -> None:
    user = '{user: sys, password: sys, permissions: { publish: { deny: "$SYS.REQ.>" } }}'
    server = start_server(f"system_account: SYS\naccounts: {{ SYS: {{ users: [{user}] }} }}\n")
    samples = take_samples(f"nats://sys:sys@127.0.0.1:{server.port}", plan=CollectionPlan(timeout_s=2 * NET_S))
    assert ("access", "$SYS.REQ.SERVER.PING") in missing(samples)


class _WithJetStream(Operator):
    def _account(self, account: Key, name: str) -> str:
        if name == "SYS":
            return super()._account(account, name)
        unlimited = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
        limits = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1}
        claims: dict[str, object] = {"limits": limits | unlimited, "type": "account"}
        return self._operator.jwt(account.public, name, claims)


def test_accounts_of_operator_mode(start_server: StartServer, server_version: str, tmp_path: Path) -> None:
    """There an account has a public key beside its name, and 2.10 tells a login the key only: it is one account."""
    operator = _WithJetStream()
    config = f"jetstream: {{ store_dir: '{tmp_path}/js' }}\nhttp: '127.0.0.1:-1'\n{operator.config}"
    server = start_server(config, version=server_version)
    url, monitor = f"nats://127.0.0.1:{server.port}", f"http://127.0.0.1:{server.ports['monitoring']}"
    for name, account in (("app", operator.app), ("sys", operator.system)):
        (tmp_path / name).write_text(creds(*operator.user(account)))

    async def as_user(name: str) -> tuple[Sample, ...]:
        if name == "app":
            client = await nats.connect(url, user_credentials=str(tmp_path / "app"))
            await add_stream(client, "ORDERS", storage="memory")
            await client.close()
        settings = resolve(ConnectionOptions(server=url, creds=str(tmp_path / name)), {}, tmp_path)
        async with connect(settings) as connection:
            return await gather(connection, [monitor], CollectionPlan(interval_s=0.1))

    for name in ("app", "sys"):
        samples = asyncio.run(as_user(name))
        evidence = assemble(samples)
        accounts = evidence.get(Accounts)
        assert accounts is not None
        key_only = name == "app" and server_version.startswith("2.10.")
        label = operator.app.public if key_only else "APP"
        assert [stream.subject.label for stream in seen(evidence).streams] == [f"{label} > ORDERS"]
        assert [account.name for account in accounts.accounts if account.tiers[0].streams] == [label]
        assert gaps(samples) == []


def _times(streams: tuple[Stream, ...]) -> Iterator[tuple[Subject, datetime]]:
    for stream in streams:
        yield stream.subject, stream.at
        yield from ((consumer.subject, consumer.at) for consumer in stream.consumers)
