"""The command line of a preflight: what ends it before anything is judged, and its exit codes."""

import json
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor, jsdoctor_warm
from tests.servers import ClusterFactory
from tests.support.deployment import add_stream
from tests.support.outage import with_client


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no server and no release is named"),
        (("--without", "n1", "--wait", "5s", "--bundle", "b.zip"), "--wait collects again"),
        (("--without", "n1", "-o", "x.sarif"), "cannot write x.sarif as sarif"),
        (("--without", "n1", "--accept", "nothing"), "'nothing' is not one of"),
        (("--target", "latest"), "write it as 2.12.8"),
        (("--target", "2.12.8", "--each"), "--target is about all servers"),
        (("--manifest", ".", "--without", "n2"), "--manifest is about what is to be deployed"),
        (("--manifest", ".", "--wait", "5s"), "--manifest is about what is to be deployed"),
    ],
)
def test_usage(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    done = jsdoctor_warm("preflight", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_nothing_that_responds_is_unknown(tmp_path: Path) -> None:
    done = jsdoctor("preflight", "--without", "n1", "-s", "nats://127.0.0.1:1", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout.startswith("Unknown")


@pytest.mark.real
def test_exit_codes_formats_and_a_bundle(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    cluster = shared_cluster(nodes=3)
    with_client(cluster, lambda client: add_stream(client, "SAFE", subjects=["safe"], num_replicas=3))
    login = ("--isolated", "-s", cluster.url("sys"))
    go = jsdoctor("preflight", "--without", "n2", *login, cwd=tmp_path)
    assert (go.returncode, go.stdout.splitlines()[0]) == (0, "Go: n2 can be stopped now."), go.stdout
    assert jsdoctor("preflight", "--without", "n1,n2", *login, cwd=tmp_path).returncode == 1
    unknown = jsdoctor("preflight", "--without", "n2", "--isolated", "-s", cluster.url("app"), cwd=tmp_path)
    assert unknown.returncode == 3
    wrong = jsdoctor("preflight", "--without", "nn2", *login, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "no server is named 'nn2'; did you mean 'n2'?" in wrong.stderr
    jsdoctor("capture", "-o", "b.zip", *login, cwd=tmp_path)
    written = jsdoctor("preflight", "--each", "--isolated", "b.zip", "-o", "go.json", "-o", "go.md", cwd=tmp_path)
    assert written.returncode == 0
    document = json.loads((tmp_path / "go.json").read_text())
    assert [(r["without"], r["verdict"]) for r in document["results"]] == [([n], "go") for n in ("n1", "n2", "n3")]
    assert "jsdoctor preflight" in (tmp_path / "go.md").read_text()


@pytest.mark.real
def test_replies_without_configurations_decide_nothing(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    """/jsz has the configurations of streams and consumers only with `config=1`."""
    cluster = shared_cluster(nodes=3)

    async def plant(client: Client) -> None:
        await add_stream(client, "BARE", subjects=["bare"], num_replicas=3)
        await client.jetstream().add_consumer("BARE", durable_name="worker")

    with_client(cluster, plant)
    files = []
    for name in ("n1", "n2", "n3"):
        for path in ("jsz?accounts=1&streams=1&consumers=1", "varz"):
            files.append(f"{name}-{path[:3]}.json")
            (tmp_path / files[-1]).write_text(json.dumps(cluster.monitor(name, f"/{path}")))
    for question in (("--without", "n2"), ("--target", "2.14.6")):
        done = jsdoctor("preflight", *question, *files, cwd=tmp_path)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "config.direct is not shown" in done.stdout


def test_manifests_are_judged_as_by_check(tmp_path: Path) -> None:
    (tmp_path / "nats.conf").write_text("port: 4222\njetstream { store_dir: /tmp/nats, max_file_store: 1G }\n")
    words = ("--manifest", "nats.conf", "--isolated", "--format", "json")
    gate, check = (jsdoctor_warm(command, *words, cwd=tmp_path) for command in ("preflight", "check"))
    assert (gate.returncode, json.loads(gate.stdout)["results"]) == (
        check.returncode,
        json.loads(check.stdout)["results"],
    )
    assert json.loads(gate.stdout)["results"], "a store in /tmp is named"
