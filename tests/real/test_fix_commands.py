"""The `nats` command beside each step does what the step would do: run by the real command, on a real server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.real.fixing import config_of, fix, own
from tests.real.test_fix import plant
from tests.servers import DEFAULT_VERSION, Cluster, ClusterFactory
from tests.servers.natscli import run_printed
from tests.support.deployment import Json
from tests.support.outage import with_client

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
