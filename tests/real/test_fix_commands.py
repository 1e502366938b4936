"""The `nats` command beside each step does what the step would do: run by the real command, on a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsdoctor.model.finding import Subject
from tests.real.fixing import config_of, fix, info_of, own, with_client
from tests.real.test_fix import plant
from tests.servers import DEFAULT_VERSION, Cluster, ClusterFactory, wait_until
from tests.servers.natscli import run_printed
from tests.support.deployment import Json, add_consumer, add_stream
from tests.support.ruleset import actions

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]

REMEDIES = (
    *("--remedy", "JSD601=stream.bound,max_bytes=1073741824"),
    *("--remedy", "JSD602=stream.set_discard,discard=old"),
    *("--remedy", "JSD414=consumer.set_max_deliver,max_deliver=7"),
    *("--remedy", "JSD610=stream.set_max_age,max_age=10m,duplicate_window=5m"),
)


def run(nats_cli: Path, cluster: Cluster, command: str, user: str = "app") -> subprocess.CompletedProcess[str]:
    return run_printed(nats_cli, command, NATS_URL=cluster.url(user), NATS_TIMEOUT="10s")


def asset(step: Json) -> tuple[str, ...]:
    subject = step["subject"]
    return (subject["stream"], subject["name"]) if subject["kind"] == "consumer" else (subject["name"],)


def test_commands_do_what_the_requests_would(shared_cluster: ClusterFactory, nats_cli: Path, tmp_path: Path) -> None:
    cluster = shared_cluster(DEFAULT_VERSION, 1, extra_config="# commands of fix\n")
    with_client(cluster, plant)
    done = fix(cluster, tmp_path, "--select", "JSD301,JSD410,JSD414,JSD601,JSD602,JSD610", *REMEDIES, "-o", "plan.json")
    assert done.returncode == 0, done.stderr
    steps = json.loads((tmp_path / "plan.json").read_text("utf-8"))["steps"]
    assert len({step["action"] for step in steps}) == 6
    for step in steps:
        (command,), (request,) = step["commands"], step["requests"]
        ran = run(nats_cli, cluster, command)
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
        now = own(config_of(cluster, *asset(step)))
        changed = {change["key"]: change["after"] for change in step["changes"]}
        assert {key: now.get(key) for key in changed} == changed, command
        assert request["payload"].get("config", request["payload"]) | changed == request["payload"].get(
            "config", request["payload"]
        )
    mute = own(config_of(cluster, "FIX_MUTE"))
    assert mute["no_ack"], "the command's own trap: any other edit would have turned acknowledgements on"


@pytest.mark.nightly
def test_commands_without_configuration(cluster_factory: ClusterFactory, nats_cli: Path) -> None:
    """Pausing, unpinning, and all ways to move a leader."""
    cluster = cluster_factory(DEFAULT_VERSION, 3)

    async def make(client: Client) -> None:
        await add_stream(client, "S", subjects=["s"], num_replicas=3, max_bytes=1 << 20)
        await add_consumer(client, "S", "worker")
        policy = {"priority_policy": "pinned_client", "priority_groups": ["jobs"], "priority_timeout": 120_000_000_000}
        await add_consumer(client, "S", "pinned", True, **policy)
        inbox = await client.subscribe(client.new_inbox())
        pull = {"batch": 1, "expires": 60_000_000_000, "group": "jobs"}
        await client.publish("$JS.API.CONSUMER.MSG.NEXT.S.pinned", json.dumps(pull).encode(), reply=inbox.subject)
        await client.request("s", b"x", timeout=10)
        await inbox.next_msg(timeout=10)
        await asyncio.to_thread(unpin)

    def commands(action: str, subject: Subject, **values: object) -> str:
        (command,) = actions()[action].commands(subject, values)
        return command

    def ok(command: str, user: str = "app") -> None:
        ran = run(nats_cli, cluster, command, user)
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"

    def unpin() -> None:
        ok(commands("consumer.unpin", Subject("consumer", "pinned", "APP", "S"), group="jobs"))

    with_client(cluster, make)
    worker = Subject("consumer", "worker", "APP", "S")
    ok(commands("consumer.pause", worker, pause_until="2199-01-01T00:00:00Z"))
    assert info_of(cluster, "S", "worker")["config"]["pause_until"] == "2199-01-01T00:00:00Z"
    leader = info_of(cluster, "S")["cluster"]["leader"]
    other = next(name for name in cluster.names if name != leader)
    ok(commands("stream.step_down", Subject("stream", "S", "APP"), to=other))
    wait_until(lambda: info_of(cluster, "S")["cluster"].get("leader") == other, f"{other} to lead", timeout=20)
    ok(commands("cluster.step_down_meta", Subject("cluster")), user="sys")
