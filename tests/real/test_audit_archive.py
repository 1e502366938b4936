"""Archives that the real `nats audit gather` makes of running servers, beside what jsdoctor captures of them."""

import asyncio
import json
import subprocess
from pathlib import Path

import nats
import pytest

from jsdoctor.demo.server import free_ports
from jsdoctor.model.account_claims import AccountClaims
from jsdoctor.model.clock import Clocks
from jsdoctor.model.connections import Connections
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.leader_interest import LeaderInterest
from jsdoctor.model.links import Links
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.bundle.read import read_bundle
from tests.servers import Cluster, ClusterFactory, server_binary
from tests.sources.operator_mode import Operator, creds
from tests.support.deployment import add_stream, furnish
from tests.support.reports import Json, run_check
from tools.record_archives import capture, gather, plant

pytestmark = pytest.mark.real
UNSEEN = {"JSD101", "JSD102", "JSD103", "JSD809"}
"""Clocks and closed connections: `nats audit gather` asks for neither."""
FLAGS = {
    "whole": (),
    "no details": ("--no-details",),
    "no copies": ("--no-streams",),
    "copies only": ("--no-server-endpoints",),
    "no accounts": ("--no-account-endpoints", "--no-details"),
}


class Taken:
    """Archives of one deployment in which nothing moves, by name, and one capture of it."""

    def __init__(self, nats_cli: Path, cluster: Cluster, directory: Path) -> None:
        self.before = capture(cluster, directory / "before.zip")
        self.paths = {name: gather(nats_cli, cluster.urls, directory / f"{name}.zip", *f) for name, f in FLAGS.items()}
        self.capture = capture(cluster, directory / "capture.zip")

    def evidence(self, name: str) -> EvidenceSet:
        return assemble(read_bundle(self.paths.get(name, self.capture)).samples)

    def streams(self, name: str) -> dict[str, Stream]:
        series = self.evidence(name).get(SnapshotSeries)
        assert series is not None
        return {stream.name: stream for stream in series.last.streams}


@pytest.fixture(scope="module")
def taken(nats_cli: Path, shared_cluster: ClusterFactory, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    cluster = shared_cluster("2.15.1", 3, extra_config="# archives\n")
    asyncio.run(furnish(cluster.url("app"), 3))
    asyncio.run(plant(cluster.url("app"), 3))
    return Taken(nats_cli, cluster, tmp_path_factory.mktemp("archives"))


@pytest.mark.parametrize("name", FLAGS)
def test_every_stream_once(taken: Taken, name: str) -> None:
    """The same streams, copies and consumers as jsdoctor itself captures, whatever was left out of the archive."""
    mine, theirs = taken.streams("capture"), taken.streams(name)
    assert set(theirs) == set(mine)
    assert len(mine) == 14
    for stream, other in ((mine[key], theirs[key]) for key in mine):
        assert (other.account, other.config, other.state) == (stream.account, stream.config, stream.state)
        assert (other.from_leader, other.consumers_seen, other.answered_by) == (True, True, stream.answered_by)
        assert {r.server: r.state.last_seq for r in other.replicas} == {
            r.server: r.state.last_seq for r in stream.replicas
        }
        assert [(c.name, c.ack_floor, c.num_pending, c.from_leader) for c in other.consumers] == [
            (c.name, c.ack_floor, c.num_pending, c.from_leader) for c in stream.consumers
        ]


def test_what_whole_archives_show(taken: Taken) -> None:
    """All kinds of evidence that a capture has, but clocks, a connection and which leaders listen."""
    captured, gathered = taken.evidence("capture"), taken.evidence("whole")
    assert {kind for kind in KINDS if captured.get(kind)} - {kind for kind in KINDS if gathered.get(kind)} == {
        Clocks,
        ConnectedServer,
        LeaderInterest,
    }
    for name in ("whole", "no details"):
        mine, theirs = captured.get(Accounts), taken.evidence(name).get(Accounts)
        assert mine is not None
        assert theirs is not None
        assert [(a.name, a.tiers[0].streams, a.tiers[0].limits) for a in theirs.accounts] == [
            (a.name, a.tiers[0].streams, a.tiers[0].limits) for a in mine.accounts
        ]


def test_what_is_left_out_is_reported(taken: Taken) -> None:
    for name in FLAGS:
        assert not [gap for gap in taken.evidence(name).gaps if gap.requested], name
    evidence = taken.evidence("copies only")
    for kind in (Servers, Connections, Links):
        assert evidence.get(kind) is None
        assert "--no-server-endpoints" in evidence.why_absent(kind).how_to_get
    evidence = taken.evidence("no accounts")
    for other in (Accounts, AccountClaims, RaftGroups):
        assert evidence.get(other) is None
        assert "--no-account-endpoints" in evidence.why_absent(other).how_to_get


@pytest.mark.parametrize("version", ["2.10.26", "2.15.1"])
def test_a_server_in_no_cluster(version: str, nats_cli: Path, cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """`nats audit gather` fails there, on the first stream. What it had asked for before is enough, with details."""
    cluster = cluster_factory(version, 1)
    asyncio.run(plant(cluster.url("app"), 1))
    before = capture(cluster, tmp_path / "before.zip")
    path = gather(nats_cli, cluster.urls, tmp_path / "whole.zip")
    _same_findings(path, before, capture(cluster, tmp_path / "after.zip"))
    code, report = run_check("--bundle", str(gather(nats_cli, cluster.urls, tmp_path / "less.zip", "--no-details")))
    assert code == 3
    assert ["--no-details" in gap["how_to_get"] for gap in report["gaps"] if gap["requested"]] == [True]


def test_the_same_findings(taken: Taken) -> None:
    """One sample each: what the captures show, the archive shows, with the same words about the same things."""
    gathered = _same_findings(taken.paths["whole"], taken.before, taken.capture)
    assert {("JSD603", "FULL"), ("JSD415", "worker")} <= {(code, name) for code, *_, name in gathered}


def test_operator_mode(nats_cli: Path, tmp_path: Path) -> None:
    """There labels hold the keys of accounts: streams are in the archive under the key, and in JSZ under the name."""
    unlimited = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)
    operator = Operator({**unlimited, "conn": 4})
    routes = free_ports(3)
    peers = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
    configs = {
        f"n{number}": f"server_name: n{number}\njetstream {{store_dir: store}}\n"
        f'cluster {{name: C, listen: "127.0.0.1:{port}", routes: [{peers}]}}\n{operator.config}'
        for number, port in enumerate(routes, 1)
    }
    for account in ("system", "app"):
        (tmp_path / f"{account}.creds").write_text(creds(*operator.user(getattr(operator, account))))
    cluster = Cluster(server_binary("2.15.1"), tmp_path, configs, "C")
    try:
        for name in cluster.names:
            cluster.start(name, wait=False)
        cluster.wait_ready()
        asyncio.run(_gather_connected(nats_cli, cluster, tmp_path))
    finally:
        cluster.close()
    evidence = [assemble(read_bundle(tmp_path / f"{name}.zip").samples) for name in ("whole", "less")]
    for evidence_set in evidence:
        series, claims = evidence_set.get(SnapshotSeries), evidence_set.get(AccountClaims)
        assert series is not None
        assert [(s.account, s.name, len(s.replicas), s.from_leader) for s in series.last.streams] == [
            ("APP", "KEYED", 3, True)
        ]
        assert claims is not None
        assert sum(use.clients for use in claims.uses if use.name == "APP") == 4
    failed = {(code, name) for code, *_, name in _judged(tmp_path / "whole.zip")}
    assert ("JSD811", "APP") in failed
    assert _analyzed(nats_cli, tmp_path / "whole.zip", "ACCOUNTS_001") == "PASS", "they see account limits now"


def _analyzed(nats_cli: Path, path: Path, code: str) -> str:
    """What `nats audit analyze` makes of it. ACCOUNTS_001 overlooks the envelope that its file has since 0.2.0."""
    command = [str(nats_cli), "audit", "analyze", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return next(str(c["outcome_string"]) for c in json.loads(done.stdout)["checks"] if c["check"]["code"] == code)


async def _gather_connected(nats_cli: Path, cluster: Cluster, directory: Path) -> None:
    """One stream, and all the connections that the account may have."""
    clients = [await nats.connect(cluster.urls, user_credentials=str(directory / "app.creds")) for _ in range(4)]
    await add_stream(clients[0], "KEYED", subjects=["keyed"], num_replicas=3, max_msgs=100)
    for name, flags in (("whole", ()), ("less", ("--no-details",))):
        login = ("--creds", str(directory / "system.creds"))
        await asyncio.to_thread(gather, nats_cli, cluster.urls, directory / f"{name}.zip", *flags, login=login)
    for client in clients:
        await client.close()


def _judged(path: Path) -> dict[tuple[str, ...], object]:
    _, report = run_check("--bundle", str(path))
    assert report["sources"][0]["kind"] == "bundle"
    return {_identity(result): result["severity"] for result in report["results"] if result["outcome"] == "fail"}


def _same_findings(gathered: Path, before: Path, after: Path) -> dict[tuple[str, ...], object]:
    """The findings of an archive: those of the captures before and after it. An age may pass a limit in between."""
    earlier, findings, later = _judged(before), _judged(gathered), _judged(after)
    captured = {key: finding for key, finding in (earlier | later).items() if key[0] not in UNSEEN}
    assert findings.items() <= captured.items()
    assert captured.keys() & earlier.keys() & later.keys() <= findings.keys()
    return findings


def _identity(result: Json) -> tuple[str, ...]:
    return (result["code"], *(result["subject"][part] for part in ("kind", "account", "stream", "name")))
