"""Refused publishes on real servers: who is right, the publisher or the stream, by the error that it was given."""

from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.diagnosis.run import Json, confirmed, diagnosed, with_verdict
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory, server_binary
from tests.support.deployment import HOUR_NS, add_stream, api
from tests.support.outage import with_client
from tests.support.stored import publish

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("diagnose")]

DEPLOYMENTS = [
    pytest.param(
        version,
        nodes,
        id=f"{version}-{nodes}",
        marks=() if (version, nodes) == (DEFAULT_VERSION, 1) else pytest.mark.nightly,
    )
    for version in VERSIONS
    for nodes in (1, 3)
]
EXPECTED, SUBJECT_EXPECTED, MSG_ID = "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence", "Nats-Msg-Id"


async def fresh(client: Client, cluster: Cluster, stream: str) -> None:
    """A stream of five messages with ids m1 to m5."""
    if stream in ((await api(client, "STREAM.NAMES"))["streams"] or ()):
        await api(client, f"STREAM.DELETE.{stream}")
    bounds = {"max_age": HOUR_NS, "max_bytes": 1 << 20}
    await add_stream(client, stream, subjects=[stream.lower()], num_replicas=len(cluster.names), **bounds)
    for number in range(1, 6):
        await publish(client, stream.lower(), headers={MSG_ID: f"m{number}"})


def as_go_prints_it(answer: Json) -> str:
    error = answer["error"]
    return f"nats: API error: code={error['code']} err_code={error['err_code']} description={error['description']}"


def diagnosis(directory: Path, cluster: Cluster, answer: Json, stream: str, *arguments: str) -> tuple[int, Json]:
    return diagnosed(directory, as_go_prints_it(answer), "-s", cluster.url("app"), "--stream", stream, *arguments)


@pytest.mark.parametrize(("version", "nodes"), DEPLOYMENTS)
def test_another_writer_was_faster(shared_cluster: ClusterFactory, tmp_path: Path, version: str, nodes: int) -> None:
    cluster = shared_cluster(version, nodes)

    async def conflict(client: Client) -> Json:
        await fresh(client, cluster, "DSEQ")
        return await publish(client, "dseq", headers={EXPECTED: "3", MSG_ID: "mine"})

    answer = with_client(cluster, conflict)
    code, document = diagnosis(tmp_path, cluster, answer, "DSEQ", "--expected-seq", "3", "--msg-id", "mine")
    assert (code, document["symptom"]) == (1, "wrong-last-sequence")
    assert list(confirmed(document)) == ["JSD201"]
    assert "message 4 on dseq with the id m4 came first, from another writer" in confirmed(document)["JSD201"]
    assert {"JSD202", "JSD203", "JSD204"} <= set(with_verdict(document, "ruled_out"))


@pytest.mark.parametrize(("version", "nodes"), DEPLOYMENTS)
@pytest.mark.parametrize("header", [EXPECTED, pytest.param(SUBJECT_EXPECTED, marks=pytest.mark.nightly)])
def test_retry_of_a_stored_message(
    shared_cluster: ClusterFactory, tmp_path: Path, version: str, nodes: int, header: str
) -> None:
    """Which servers refuse it, and which answer that it is a duplicate, depends on version and replicas."""
    cluster = shared_cluster(version, nodes)
    old = version.startswith("2.10")
    refused = (nodes == 1 and not old) or (nodes == 3 and old and header == SUBJECT_EXPECTED)

    async def retry(client: Client) -> Json:
        await fresh(client, cluster, "DRETRY")
        first = await publish(client, "dretry", headers={header: "5", MSG_ID: "m6"})
        assert first["seq"] == 6
        return await publish(client, "dretry", headers={header: "5", MSG_ID: "m6"})

    answer = with_client(cluster, retry)
    if not refused:
        assert answer.get("duplicate") is True
        return
    _, document = diagnosis(tmp_path, cluster, answer, "DRETRY", "--expected-seq", "5", "--msg-id", "m6")
    assert list(confirmed(document)) == ["JSD201"]
    assert "the first attempt was stored" in confirmed(document)["JSD201"]


@pytest.mark.parametrize(("version", "nodes"), DEPLOYMENTS)
@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_stream_recreated(
    shared_cluster: ClusterFactory, tmp_path: Path, version: str, nodes: int, known: bool
) -> None:
    """The publisher knows what it expected, or only an older error says where the stream once was."""
    cluster = shared_cluster(version, nodes)

    async def recreate(client: Client) -> Json:
        await fresh(client, cluster, "DNEW")
        before = await publish(client, "dnew", headers={EXPECTED: "1"})
        await api(client, "STREAM.DELETE.DNEW")
        bounds = {"max_age": HOUR_NS, "max_bytes": 1 << 20}
        await add_stream(client, "DNEW", subjects=["dnew"], num_replicas=nodes, **bounds)
        after = await publish(client, "dnew", headers={EXPECTED: "5"})
        assert after["error"]["description"] == "wrong last sequence: 0"
        return after if known else before

    answer = with_client(cluster, recreate)
    arguments = ("--expected-seq", "5") if known else ()
    _, document = diagnosis(tmp_path, cluster, answer, "DNEW", *arguments)
    assert list(confirmed(document)) == ["JSD202"]
    if known:
        assert "the publisher expects 5, but the stream ends at 0" in confirmed(document)["JSD202"]
    else:
        assert "the stream was at 5, now it ends at 0" in confirmed(document)["JSD202"]


@pytest.mark.parametrize(("version", "nodes"), DEPLOYMENTS)
def test_probe(shared_cluster: ClusterFactory, tmp_path: Path, version: str, nodes: int) -> None:
    """It tells what would become of a publish and stores nothing; where servers would store it, it is not sent."""
    cluster = shared_cluster(version, nodes)
    with_client(cluster, lambda client: fresh(client, cluster, "DPROBE"))
    before = with_client(cluster, lambda client: api(client, "STREAM.INFO.DPROBE"))["state"]
    there = ("-s", cluster.url("app"), "--probe", "dprobe")
    taken, free, duplicate, conflict, nowhere = (
        diagnosed(tmp_path, *arguments)
        for arguments in (
            there,
            (*there, "--expected-seq", "5", "--msg-id", "m6"),
            (*there, "--msg-id", "m5"),
            (*there, "--expected-seq", "3"),
            ("nats: no response from stream", "-s", cluster.url("app"), "--probe", "dprobe.nowhere"),
        )
    )
    assert with_client(cluster, lambda client: api(client, "STREAM.INFO.DPROBE"))["state"] == before
    if version.startswith("2.10"):
        for code, document in (taken, free, duplicate, conflict):
            assert code == 3
            assert f"runs {version}, which would store the probe" in document["probe"]["refused"]
        return
    assert sorted(server["name"] for server in taken[1]["probe"]["servers"]) == cluster.names
    for code, document in (taken, free):
        assert (code, document["probe"]["stream"], document["probe"]["error"]) == (0, "DPROBE", None)
    assert (duplicate[0], duplicate[1]["probe"]["error"]) == (1, "msgid is duplicate")
    assert conflict[0] == 1
    assert "last sequence" in conflict[1]["probe"]["error"]
    assert nowhere[0] == 1
    assert nowhere[1]["probe"]["stream"] is None
    assert list(confirmed(nowhere[1])) == ["JSD613"]


@pytest.mark.nightly
def test_probe_is_refused_while_any_server_is_old(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """In the middle of a roll-out the server that we are on is new, the one that stores may not be."""
    cluster = cluster_factory("2.10.26", 3)
    with_client(cluster, lambda client: fresh(client, cluster, "DPROBE"))
    cluster.stop("n1")
    cluster._binary = server_binary("2.15.1")
    cluster.start("n1")
    new = cluster.node("n1").url.replace("nats://", "nats://app:app@")
    code, document = diagnosed(tmp_path, "-s", new, "--probe", "dprobe")
    assert code == 3
    assert "runs 2.10.26, which would store the probe" in document["probe"]["refused"]
    assert {"name": "n1", "version": "2.15.1"} in document["probe"]["servers"]
    assert with_client(cluster, lambda client: api(client, "STREAM.INFO.DPROBE"))["state"]["last_seq"] == 5
