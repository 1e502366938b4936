"""Removing a server names what it alone holds, and does nothing until each of it is given up."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.finding import Subject
from jsdoctor.model.snapshot import ClusterSnapshot, UnresponsiveAsset
from jsdoctor.remedy.families.peers import Witness, losses
from tests.cli.invoke import jsdoctor
from tests.remedy.asking import PlainApi, with_api
from tests.remedy.test_hard_actions import is_missed, publish
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, add_consumer, add_stream

Json = dict[str, Any]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
LOST = Subject(kind="stream", name="ALONE", account="APP")
WITHIN = Subject(kind="consumer", name="worker", stream="ALONE", account="APP")


def test_what_does_not_respond_is_a_loss_of_unknown_size() -> None:
    silent = (UnresponsiveAsset(LOST, "offline"), UnresponsiveAsset(WITHIN, "offline"))
    (loss,) = losses("n1", ClusterSnapshot(taken_at=MOMENT, streams=(), silent=silent), [])
    assert (loss.subject, loss.messages) == (LOST, None)
    assert "its number of messages is not known" in loss.text


def test_a_system_login_shows_what_a_server_holds_only_while_it_responds() -> None:
    snapshot = ClusterSnapshot(taken_at=MOMENT, streams=())
    accounts = frozenset({"APP"})
    assert Witness(snapshot, accounts, frozenset({"n1"})).shows("n1") == accounts
    assert Witness(snapshot, accounts, frozenset({"n2"})).shows("n1") == frozenset()
    assert Witness(snapshot, accounts).shows("n1") == accounts


async def plant(to: PlainApi) -> Json:
    """Single replicas on every server; who leads them."""
    for number in range(6):
        await add_stream(to.client, f"ONE{number}", subjects=[f"one{number}"], num_replicas=1, max_age=HOUR_NS)
        await publish(to, f"one{number}", 10 + number)
        await add_consumer(to.client, f"ONE{number}", "worker")
    await add_stream(to.client, "THREE", subjects=["three"], num_replicas=3, max_age=HOUR_NS)
    await publish(to, "three", 20)
    return {f"ONE{n}": (await to.ask(f"STREAM.INFO.ONE{n}"))["cluster"]["leader"] for n in range(6)}


def capture(directory: Path, url: str, name: str) -> None:
    (directory / "seen").mkdir(exist_ok=True)
    done = jsdoctor("capture", "--isolated", "-o", f"seen/{name}.zip", "--server", url, cwd=directory, timeout=120)
    assert (directory / "seen" / f"{name}.zip").exists(), done.stderr


def missed(cluster: Cluster, victim: str) -> None:
    wait_until(lambda: is_missed(cluster, victim), f"the meta leader to miss {victim}, and no other", timeout=240)


@pytest.mark.real
@pytest.mark.nightly
def test_each_asset_is_named_and_must_be_given_up(
    cluster_factory: ClusterFactory, server_version: str, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes=3)
    leads = with_api(cluster.url(), plant)
    victim = max((n for n in cluster.names if n != cluster.meta_leader()), key=list(leads.values()).count)
    held = sorted(name for name, leader in leads.items() if leader == victim)
    assert held
    capture(tmp_path, cluster.url("sys"), "before")
    cluster.stop(victim)
    missed(cluster, victim)
    others = [name for name in cluster.names if name != victim]
    running = {
        user: ",".join(u for u, n in zip(cluster.servers(user), cluster.names, strict=True) if n in others)
        for user in ("app", "sys")
    }

    def remove(journal: str, **values: str) -> Json:
        given = "".join(f",{key}={value}" for key, value in {"silent_s": "0", **values}.items())
        words = ("--select", "JSD703", "--interval", "2s", "--remedy", f"JSD703=server.remove_peer{given}")
        done = jsdoctor(
            *("fix", "--isolated", "--server", running["sys"], "--apply", "--yes", "--format", "json", *words),
            *("--allow", "destructive", "--journal", journal),
            cwd=tmp_path,
            timeout=180,
        )
        plan = jsdoctor("fix", "--isolated", "--server", running["sys"], "--format", "json", *words, cwd=tmp_path)
        document: Json = {"steps": [], **(json.loads(done.stdout) if done.stdout else {}), "exit": done.returncode}
        return {**document, "refused": json.loads(plan.stdout)["refused"] if plan.stdout else [], "said": done.stderr}

    blind = remove("blind.jsonl")
    assert blind["steps"] == []
    assert "does not show single replicas" in json.dumps(blind["refused"]), blind
    # Nobody saw it before: the account's own login names what does not answer.
    capture(tmp_path, running["app"], "after")
    (tmp_path / "seen" / "before.zip").rename(tmp_path / "before.zip")
    unknown = json.dumps(remove("unknown.jsonl", seen="seen")["refused"])
    assert all(f"APP/{name}" in unknown for name in held), unknown
    assert "its number of messages is not known" in unknown
    (tmp_path / "before.zip").rename(tmp_path / "seen" / "before.zip")
    known = json.dumps(remove("known.jsonl", seen="seen")["refused"])
    assert all(f"{10 + int(name[3:])} messages" in known for name in held), known
    assert "THREE" not in known
    some = remove("some.jsonl", seen="seen", give_up="+".join(f"APP/{name}" for name in held[1:]))
    assert some["steps"] == []
    done = remove("all.jsonl", seen="seen", give_up="+".join(f"APP/{name}" for name in held))
    (step,) = done["steps"]
    assert step["ending"] == "verified", done
    assert [loss["subject"]["name"] for loss in step["losses"]] == held
    assert [loss["messages"] for loss in step["losses"]] == [10 + int(name[3:]) for name in held]

    async def count(to: PlainApi) -> list[int]:
        return [(await to.ask(f"STREAM.INFO.{name}"))["state"]["messages"] for name in (*held, "THREE")]

    wait_until(
        lambda: with_api(running["app"], count) == [0] * len(held) + [20],
        "single replicas to be created again, empty, and the others to keep their messages",
        timeout=60,
    )
    back = jsdoctor(
        *("rollback", "all.jsonl", "--yes", "--isolated", "--server", running["sys"]), cwd=tmp_path, timeout=120
    )
    assert back.returncode == 1
    assert "Lost with it" in back.stdout
