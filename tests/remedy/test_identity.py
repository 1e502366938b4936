"""A stream is identified by its name and its time of creation: nothing is changed on another one of that name."""

import json
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.real.fixing import config_of, fix, rollback
from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import add_consumer, add_stream
from tests.support.outage import with_client

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]

SECOND_NS = 1_000_000_000
RULES = ("--select", "JSD301,JSD410")


async def remake(client: Client) -> None:
    await client.request("$JS.API.STREAM.DELETE.TWICE", b"", timeout=10)
    config = {"max_bytes": 1 << 20, "max_msg_size": 1000, "duplicate_window": SECOND_NS // 10}
    await add_stream(client, "TWICE", subjects=["twice"], **config)
    await add_consumer(client, "TWICE", "hasty", ack_wait=SECOND_NS // 20)


@pytest.fixture
def cluster(shared_cluster: ClusterFactory) -> Cluster:
    furnished = shared_cluster()
    with_client(furnished, remake)
    return furnished


def both(cluster: Cluster) -> list[bytes]:
    return [config_of(cluster, "TWICE", name) for name in ("", "hasty")]


def test_a_plan_is_not_applied_to_a_stream_that_was_created_again(cluster: Cluster, tmp_path: Path) -> None:
    assert fix(cluster, tmp_path, *RULES, "-o", "plan.json").returncode == 0
    steps = json.loads((tmp_path / "plan.json").read_text())["steps"]
    assert {p["name"] for step in steps for p in step["preconditions"]} >= {"created_at", "led"}
    with_client(cluster, remake)
    before = both(cluster)
    done = fix(cluster, tmp_path, "--plan", "plan.json", "--apply", "--yes", "--journal", "j.jsonl", "--format", "json")
    assert done.returncode == 1, done.stdout + done.stderr
    endings = [(step["ending"], step["text"]) for step in json.loads(done.stdout)["steps"]]
    assert endings[0][0] == "refused"
    assert "was deleted and created again" in endings[0][1]
    assert both(cluster) == before


def test_a_rollback_leaves_a_stream_that_was_created_again(cluster: Cluster, tmp_path: Path) -> None:
    words = ("--apply", "--yes", "--journal", "j.jsonl")
    assert fix(cluster, tmp_path, *RULES, *words).returncode == 0
    with_client(cluster, remake)
    before = both(cluster)
    done = rollback(cluster, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert {step["ending"] for step in json.loads(done.stdout)["steps"]} == {"not taken back"}
    assert "was deleted and created again" in done.stdout
    assert both(cluster) == before
