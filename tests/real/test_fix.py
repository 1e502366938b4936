"""`jsdoctor fix` on a real server: plan, apply, proof, second apply, drift, rollback byte for byte, commands."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from tests.real.fixing import apply, config_of, endings, events, fix, info_of, own, rollback
from tests.servers import DEFAULT_VERSION, Cluster, ClusterFactory
from tests.servers.natscli import run_printed
from tests.support.deployment import Json, add_consumer, add_stream, api
from tests.support.outage import with_client

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]


SECOND_NS = 1_000_000_000
SELECTED = ("--select", "JSD301,JSD410,JSD414,JSD602,JSD610,JSD601")
ASSETS = (("FIX_WINDOW", ""), ("FIX_FULL", ""), ("FIX_MUTE", ""), ("FIX_FREE", ""), ("FIX_WINDOW", "hasty"))


@pytest.fixture
def cluster(shared_cluster: ClusterFactory) -> Cluster:
    """One server with five faults, as they were before the first test whatever the last one did."""
    furnished = shared_cluster(DEFAULT_VERSION, 1, extra_config="# fix\n")
    with_client(furnished, plant)
    return furnished


async def plant(client: Client) -> None:
    for name in ("FIX_WINDOW", "FIX_FULL", "FIX_MUTE", "FIX_FREE"):
        await client.request(f"$JS.API.STREAM.DELETE.{name}", b"", timeout=10)
    small: dict[str, Any] = {"max_bytes": 1 << 20, "max_msg_size": 1000}
    await add_stream(client, "FIX_WINDOW", subjects=["fix.window"], duplicate_window=SECOND_NS // 10, **small)
    await add_consumer(client, "FIX_WINDOW", "hasty", ack_wait=SECOND_NS // 20)
    await add_consumer(client, "FIX_WINDOW", "steps", backoff=[SECOND_NS // 10, SECOND_NS], max_deliver=5)
    await add_consumer(client, "FIX_WINDOW", "fleeting", inactive_threshold=300 * SECOND_NS)
    await add_stream(
        client, "FIX_FULL", subjects=["fix.full"], max_msgs=10, max_age=3600 * SECOND_NS, discard="new", **small
    )
    for _ in range(9):
        await client.request("fix.full", b"x", timeout=10)
    await add_stream(client, "FIX_MUTE", subjects=["fix.mute"], no_ack=True, **small)
    await add_stream(client, "FIX_FREE", subjects=["fix.free"])


def test_a_plan_changes_nothing_and_shows_what_it_would(cluster: Cluster, tmp_path: Path) -> None:
    before = {asset: config_of(cluster, *asset) for asset in ASSETS}
    done = fix(cluster, tmp_path, *SELECTED, "-o", "plan.json")
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    steps = {step["action"]: step for step in plan["steps"]}
    window = steps["stream.raise_duplicate_window"]
    assert window["changes"] == [{"key": "duplicate_window", "before": SECOND_NS // 10, "after": 120 * SECOND_NS}]
    assert window["requests"][0]["subject"] == "STREAM.UPDATE.FIX_WINDOW"
    now = own(before["FIX_WINDOW", ""])
    assert window["requests"][0]["payload"] == now | {"duplicate_window": 120 * SECOND_NS}
    assert window["undo"][0]["payload"] == now
    assert window["proofs"][0]["code"] == "JSD301"
    assert [step["risk"] for step in plan["steps"]] == ["disruptive"] + ["safe"] * 5 + ["manual"]
    assert {asset: config_of(cluster, *asset) for asset in ASSETS} == before


def test_safe_steps_are_applied_proved_and_taken_back(cluster: Cluster, tmp_path: Path) -> None:
    before = {asset: config_of(cluster, *asset) for asset in ASSETS}
    messages = info_of(cluster, "FIX_FULL")["state"]["messages"]
    ended = endings(apply(cluster, tmp_path, *SELECTED))
    assert ended == {
        "stream.raise_duplicate_window FIX_WINDOW": "verified",
        "consumer.raise_ack_wait FIX_WINDOW/hasty": "verified",
        "consumer.raise_ack_wait FIX_WINDOW/steps": "verified",
        "consumer.raise_inactive_threshold FIX_WINDOW/fleeting": "verified",
        "stream.raise_limits FIX_FULL": "verified",
        "stream.acknowledge FIX_MUTE": "not allowed",
        "stream.bound FIX_FREE": "for a person",
    }
    assert json.loads(config_of(cluster, "FIX_FULL"))["max_msgs"] == 20
    assert config_of(cluster, "FIX_MUTE") == before["FIX_MUTE", ""]
    steps = json.loads(config_of(cluster, "FIX_WINDOW", "steps"))
    assert steps["backoff"][0] == steps["ack_wait"] == 30 * SECOND_NS

    again = fix(cluster, tmp_path, *SELECTED)
    assert "JSD301" not in again.stdout
    done = rollback(cluster, tmp_path)
    assert done.returncode == 0, done.stdout
    assert {asset: config_of(cluster, *asset) for asset in ASSETS} == before
    assert info_of(cluster, "FIX_FULL")["state"]["messages"] == messages
    assert "nothing to take back" in rollback(cluster, tmp_path).stderr


def test_every_write_is_journalled_with_the_state_before(cluster: Cluster, tmp_path: Path) -> None:
    before = json.loads(config_of(cluster, "FIX_WINDOW"))
    apply(cluster, tmp_path, "--select", "JSD301")
    lines = [json.loads(line) for line in (tmp_path / "j.jsonl").read_text("utf-8").splitlines()]
    assert [line["event"] for line in lines] == ["plan", "begin", "written", "verified"]
    assert lines[1]["before"]["config"] == before
    assert lines[0]["schema"] == "jsdoctor.journal/v1"


def test_a_second_apply_of_the_same_plan_does_nothing(cluster: Cluster, tmp_path: Path) -> None:
    fix(cluster, tmp_path, "--select", "JSD301,JSD410", "-o", "plan.json")
    twice = ("--plan", "plan.json", "--apply", "--yes", "--journal")
    assert fix(cluster, tmp_path, *twice, "1.jsonl").returncode == 0
    config = config_of(cluster, "FIX_WINDOW")
    assert fix(cluster, tmp_path, *twice, "2.jsonl").returncode == 0
    assert {event for event, _ in events(tmp_path / "2.jsonl")} == {"plan", "skipped"}
    assert config_of(cluster, "FIX_WINDOW") == config


def test_drift_since_the_plan_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    fix(cluster, tmp_path, "--select", "JSD301", "-o", "plan.json")
    config = json.loads(config_of(cluster, "FIX_WINDOW"))
    with_client(cluster, lambda client: api(client, "STREAM.UPDATE.FIX_WINDOW", config | {"max_bytes": 2 << 20}))
    drifted = config_of(cluster, "FIX_WINDOW")
    done = fix(cluster, tmp_path, "--plan", "plan.json", "--apply", "--yes", "--journal", "j.jsonl")
    assert done.returncode == 1
    assert "max_bytes 1048576 -> 2097152" in " ".join(done.stdout.split())
    assert config_of(cluster, "FIX_WINDOW") == drifted
    assert "begin" not in {event for event, _ in events(tmp_path / "j.jsonl")}


@pytest.mark.nightly
def test_rollback_leaves_what_others_changed_since(cluster: Cluster, tmp_path: Path) -> None:
    before = json.loads(config_of(cluster, "FIX_WINDOW"))
    apply(cluster, tmp_path, "--select", "JSD301")
    config = json.loads(config_of(cluster, "FIX_WINDOW"))
    with_client(cluster, lambda client: api(client, "STREAM.UPDATE.FIX_WINDOW", config | {"max_bytes": 2 << 20}))
    assert rollback(cluster, tmp_path).returncode == 0
    assert json.loads(config_of(cluster, "FIX_WINDOW")) == before | {"max_bytes": 2 << 20}


@pytest.mark.nightly
def test_rollback_does_not_overwrite_what_somebody_else_set(cluster: Cluster, tmp_path: Path) -> None:
    apply(cluster, tmp_path, "--select", "JSD301")
    config = json.loads(config_of(cluster, "FIX_WINDOW"))
    mine = config | {"duplicate_window": 60 * SECOND_NS}
    with_client(cluster, lambda client: api(client, "STREAM.UPDATE.FIX_WINDOW", mine))
    done = rollback(cluster, tmp_path)
    assert done.returncode == 1
    assert "another client has changed it" in done.stdout
    assert json.loads(config_of(cluster, "FIX_WINDOW"))["duplicate_window"] == 60 * SECOND_NS


@pytest.mark.parametrize("discard", ["new", "old"])
def test_rollback_deletes_no_message_that_came_since(cluster: Cluster, tmp_path: Path, discard: str) -> None:
    """A lower limit deletes what is over it where old messages are discarded, nothing where new ones are refused."""
    apply(cluster, tmp_path, "--select", "JSD602")

    async def publish(client: Client) -> None:
        config = json.loads((await client.request("$JS.API.STREAM.INFO.FIX_FULL", b"", timeout=10)).data)["config"]
        body = json.dumps({**config, "discard": discard}).encode()
        await client.request("$JS.API.STREAM.UPDATE.FIX_FULL", body, timeout=10)
        for _ in range(5):
            await client.request("fix.full", b"x", timeout=10)

    with_client(cluster, publish)
    done = rollback(cluster, tmp_path)
    assert done.returncode == (1 if discard == "old" else 0)
    refused = "messages would be deleted: max_msgs 10 is below the 14 messages it holds" in done.stdout
    assert refused is (discard == "old")
    assert info_of(cluster, "FIX_FULL")["state"]["messages"] == 14


def test_without_a_terminal_yes_is_required(cluster: Cluster, tmp_path: Path) -> None:
    before = config_of(cluster, "FIX_WINDOW")
    done = fix(cluster, tmp_path, "--select", "JSD301", "--apply")
    assert done.returncode == 2
    assert "add --yes" in done.stderr
    assert config_of(cluster, "FIX_WINDOW") == before


@pytest.mark.parametrize(
    ("answer", "code", "window_ns"),
    [("n", 2, SECOND_NS // 10), pytest.param("y", 0, 120 * SECOND_NS, marks=pytest.mark.nightly)],
)
def test_on_a_terminal_it_asks(cluster: Cluster, tmp_path: Path, answer: str, code: int, window_ns: int) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(
        [sys.executable, "-m", "jsdoctor", "fix", "--apply", "--select", "JSD301", "--isolated"],
        env={**os.environ, "NATS_URL": cluster.url("app"), "XDG_CONFIG_HOME": str(tmp_path)},
        cwd=tmp_path,
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    for handle in (ours, theirs):
        os.close(handle)
    assert done.returncode == code, done.stderr
    assert "apply 1 step? [y/N]" in done.stderr
    assert json.loads(config_of(cluster, "FIX_WINDOW"))["duplicate_window"] == window_ns
    assert len(list(tmp_path.glob("jsdoctor-fix-*.jsonl"))) == (answer == "y")


@pytest.mark.nightly
def test_a_login_of_another_account_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    before = config_of(cluster, "FIX_WINDOW")
    ended = apply(cluster, tmp_path, "--select", "JSD301", user="sys")
    assert [(step["ending"], step["text"]) for step in ended] == [("refused", "it is for a login of account APP")]
    assert config_of(cluster, "FIX_WINDOW") == before


@pytest.mark.nightly
def test_what_cannot_be_proved_is_kept_and_reported(cluster: Cluster, tmp_path: Path) -> None:
    """The proof asks for a rule that only the system account can judge, which it then does."""
    before = config_of(cluster, "FIX_WINDOW")
    fix(cluster, tmp_path, "--select", "JSD301", "-o", "plan.json")
    plan = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    plan["steps"][0]["proofs"] = [{"code": "JSD801", "subject": {"kind": "server", "name": "n1"}}]
    (tmp_path / "plan.json").write_text(json.dumps(plan), "utf-8")
    common = ("--yes", "--journal", "j.jsonl", "--patience", "1s")
    done = fix(cluster, tmp_path, "--plan", "plan.json", "--apply", *common)
    assert (done.returncode, "done, not proved" in done.stdout) == (3, True), done.stdout + done.stderr
    assert config_of(cluster, "FIX_WINDOW") != before
    assert fix(cluster, tmp_path, "--resume", *common).returncode == 3
    proved = fix(cluster, tmp_path, "--resume", *common, user="sys")
    assert (proved.returncode, "verified" in proved.stdout) == (0, True), proved.stdout + proved.stderr
    assert rollback(cluster, tmp_path).returncode == 0
    assert config_of(cluster, "FIX_WINDOW") == before


def test_a_persons_choice_is_carried_out(cluster: Cluster, tmp_path: Path) -> None:
    chosen = ("--select", "JSD601", "--remedy", "JSD601=stream.bound,max_bytes=1000000", "--allow", "disruptive")
    assert endings(apply(cluster, tmp_path, *chosen)) == {"stream.bound FIX_FREE": "verified"}
    assert json.loads(config_of(cluster, "FIX_FREE"))["max_bytes"] == 1_000_000


def run(nats_cli: Path, cluster: Cluster, command: str, user: str = "app") -> subprocess.CompletedProcess[str]:
    return run_printed(nats_cli, command, NATS_URL=cluster.url(user), NATS_TIMEOUT="10s")


def asset(step: Json) -> tuple[str, ...]:
    subject = step["subject"]
    return (subject["stream"], subject["name"]) if subject["kind"] == "consumer" else (subject["name"],)
