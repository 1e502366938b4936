"""The hard actions on real servers: planned, applied, proved by the rule that asked for them; and when they refuse."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.remedy.backup.files import require_verified
from jsdoctor.remedy.families.peers import jsz_of_all_servers, meta_group_by_leader
from tests.cli.invoke import jsdoctor
from tests.clock import ShiftClock
from tests.faults.test_sequence_mismatch import consume_all, lose_the_tail, publish_five
from tests.remedy.asking import PlainApi, with_api
from tests.remedy.fixing import endings, fix, planned
from tests.servers import VERSIONS as EVERY_VERSION
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.sources.looking import NIGHTLY_UNLESS_DEFAULT
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api, drain
from tests.support.site import Site
from tests.support.stopped_mirror import add_stopped_mirror
from tests.support.stored import store, store_again

pytestmark = pytest.mark.real
SECOND_NS = 1_000_000_000
BOUNDS = {"max_age": HOUR_NS, "max_bytes": 8 << 20}
VERSIONS = pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)


def on(cluster: Cluster, use: Callable[[PlainApi], Awaitable[Any]]) -> Any:
    return with_api(cluster.url(), use)


async def publish(to: PlainApi, subject: str, count: int, first: int = 0) -> None:
    """Acknowledged messages."""
    for number in range(first, first + count):
        await store(to.client, subject, body=b"message %d" % number)


async def give_up(to: PlainApi, cluster: Cluster, stream: str, **config: Any) -> None:
    """Three messages that nobody acknowledges, each delivered twice, which is as often as allowed; then one that is."""
    site = Site.of(cluster, "", to.client)
    await add_stream(to.client, stream, subjects=[stream], **BOUNDS, **config)
    await add_consumer(to.client, stream, "worker", max_deliver=2, ack_wait=SECOND_NS)
    await publish(to, stream, 3)
    for _ in range(2):
        assert await site.fetch(stream, "worker", 3, ack=False) == 3
        await asyncio.sleep(1.3)
    await publish(to, stream, 1, first=3)
    assert await site.fetch(stream, "worker", 1) == 1


async def delivered(to: PlainApi, stream: str, count: int) -> None:
    """Wait until so many messages were delivered to its worker, every repeat counted."""
    for _ in range(300):
        if (await to.ask(f"CONSUMER.INFO.{stream}.worker"))["delivered"]["consumer_seq"] >= count:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{stream} > worker never delivers {count}")


async def holds(to: PlainApi, stream: str, count: int) -> None:
    for _ in range(300):
        if (await to.ask(f"STREAM.INFO.{stream}"))["state"]["messages"] == count:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{stream} never holds {count}")


@VERSIONS
def test_future_dated_messages_are_deleted(
    cluster_factory: ClusterFactory, version: str, shift_clock: ShiftClock, tmp_path: Path
) -> None:
    cluster = cluster_factory(version)

    async def plant(to: PlainApi) -> None:
        await add_stream(to.client, "LATE", subjects=["late"], **BOUNDS)
        shift_clock(cluster.node("n1").pid, 7200)
        await publish(to, "late", 3)
        shift_clock(cluster.node("n1").pid, 0)
        await publish(to, "late", 4, first=3)

    on(cluster, plant)
    # Without leave not even the backup is taken.
    words = ("fix", "--isolated", "--server", cluster.url(), "--select", "JSD108", "--apply", "--yes")
    assert "there is nothing to apply" in jsdoctor(*words, "--allow", "disruptive", cwd=tmp_path).stderr
    assert list(tmp_path.glob("backup-*")) == []
    done = fix(tmp_path, cluster.url(), "--select", "JSD108")
    assert endings(done) == {"stream.backup": "verified", "stream.delete_first_message": "verified"}, done
    state = on(cluster, lambda to: to.ask("STREAM.INFO.LATE"))["state"]
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (4, 4, 7)
    (backup,) = tmp_path.glob("backup-LATE-*")
    assert require_verified(backup).messages == 7


@pytest.mark.nightly
@pytest.mark.parametrize("version", EVERY_VERSION)
def test_dead_letters_of_a_work_queue_are_moved(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version)

    async def plant(to: PlainApi) -> None:
        await add_stream(
            to.client, "ADVISED", subjects=["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>"], no_ack=True, **BOUNDS
        )
        await add_stream(to.client, "DEAD", subjects=["dead.>"], **BOUNDS)
        await give_up(to, cluster, "JOBS", retention="workqueue")

    on(cluster, plant)
    choice = "JSD409=consumer.keep_dead_letters,into=DEAD,advisories=ADVISED"
    done = fix(tmp_path, cluster.url(), "--select", "JSD409", "--remedy", choice)
    assert endings(done) == {"stream.backup": "verified", "consumer.keep_dead_letters": "verified"}, done

    async def verify(to: PlainApi) -> None:
        assert (await to.ask("STREAM.INFO.JOBS"))["state"]["messages"] == 0
        assert (await to.ask("STREAM.INFO.DEAD"))["state"]["messages"] == 3
        js = to.client.jetstream()
        for seq in (1, 2, 3):
            kept = await js.get_last_msg("DEAD", f"dead.JOBS.worker.{seq}")
            assert kept.data == b"message %d" % (seq - 1)
            assert kept.headers is not None
            assert (kept.headers["Nats-Stream"], kept.headers["Nats-Sequence"]) == ("JOBS", str(seq))

    on(cluster, verify)


@pytest.mark.nightly
def test_dead_letters_of_a_stream_are_copied_once(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()

    async def plant(to: PlainApi) -> None:
        await add_stream(to.client, "DEAD", subjects=["dead.>"], **BOUNDS)
        await give_up(to, cluster, "ORDERS")

    on(cluster, plant)
    words = ("--select", "JSD409", "--remedy", "JSD409=consumer.keep_dead_letters,into=DEAD,seqs=1+3")
    done = fix(tmp_path, cluster.url(), *words, allow="disruptive")
    assert [step["ending"] for step in done["steps"]] == ["verified", "for a person"], done
    again = fix(tmp_path, cluster.url(), *words, allow="disruptive", journal="again.jsonl")
    assert [step["ending"] for step in again["steps"]] == ["nothing to do", "for a person"], again
    assert on(cluster, lambda to: to.ask("STREAM.INFO.DEAD"))["state"]["messages"] == 2
    assert on(cluster, lambda to: to.ask("STREAM.INFO.ORDERS"))["state"]["messages"] == 4


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("version", "nodes", "action"), [("2.10.26", 1, "recreate"), ("2.12.8", 1, "recreate"), ("2.15.1", 3, "reset")]
)
def test_a_consumer_ahead_of_its_stream_is_put_back(
    cluster_factory: ClusterFactory, version: str, nodes: int, action: str, tmp_path: Path
) -> None:
    """The stream lost its tail; where to go on, a person says: the first message that was stored since."""
    cluster = cluster_factory(version, nodes)
    asyncio.run(consume_all(cluster, nodes))
    lose_the_tail(cluster)
    asyncio.run(publish_five(cluster))
    words = ("--select", "JSD205", "--interval", "1s")
    plan = planned(tmp_path, cluster.url(), *words, "--remedy", "JSD205=consumer.recreate")
    assert "say with seq" in plan["refused"][0]["reason"]
    choice = f"JSD205=consumer.{action},seq=16"
    done = fix(tmp_path, cluster.url(), *words, "--remedy", choice, allow="disruptive")
    assert endings(done) == {f"consumer.{action}": "verified"}, done
    assert on(cluster, lambda to: drain(to.client, "P205", "worker")) == 5


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["2.12.8", "2.10.26"])
def test_older_servers_cannot_reset_and_recreate_the_consumer(
    cluster_factory: ClusterFactory, version: str, tmp_path: Path
) -> None:
    cluster = cluster_factory(version)
    on(cluster, lambda to: give_up(to, cluster, "ORDERS"))
    before = on(cluster, lambda to: to.ask("CONSUMER.INFO.ORDERS.worker"))
    plan = planned(tmp_path, cluster.url(), "--select", "JSD409", "--remedy", "JSD409=consumer.reset,seq=1")
    assert [refusal["reason"] for refusal in plan["refused"]] == [
        "resetting a consumer needs nats-server 2.14 everywhere"
    ]
    words = ("--select", "JSD409", "--remedy", "JSD409=consumer.recreate,seq=2")
    done = fix(tmp_path, cluster.url(), *words, allow="disruptive")
    assert endings(done) == {"consumer.recreate": "verified"}, done
    info = on(cluster, lambda to: to.ask("CONSUMER.INFO.ORDERS.worker"))
    assert info["num_pending"] == 3
    start = {"deliver_policy": "by_start_sequence", "opt_start_seq": 2}
    assert info["config"] == {**before["config"], **start}
    assert on(cluster, lambda to: drain(to.client, "ORDERS", "worker")) == 3


@pytest.mark.nightly
@pytest.mark.parametrize("version", EVERY_VERSION)
def test_a_consumer_with_a_live_push_client_is_left_alone(
    cluster_factory: ClusterFactory, version: str, tmp_path: Path
) -> None:
    """Deleted under it, its numbering restarts, which the client reports as a sequence mismatch."""
    cluster = cluster_factory(version)
    action = "reset" if version >= "2.14" else "recreate"

    async def use(to: PlainApi) -> dict[str, Any]:
        await add_stream(to.client, "PUSHED", subjects=["pushed"], **BOUNDS)
        config: dict[str, Any] = {"deliver_subject": "to.worker", "max_deliver": 2, "ack_wait": SECOND_NS}
        await add_consumer(to.client, "PUSHED", "worker", **config)
        await to.client.subscribe("to.worker")
        await publish(to, "pushed", 3)
        await delivered(to, "PUSHED", 6)
        await asyncio.sleep(2)  # no less: the time to acknowledge the second delivery passes
        choice = f"JSD409=consumer.{action},seq=1"
        words = ("--select", "JSD409", "--remedy", choice)
        before = await to.ask("CONSUMER.INFO.PUSHED.worker")
        done = await asyncio.to_thread(fix, tmp_path, cluster.url(), *words)
        after = await to.ask("CONSUMER.INFO.PUSHED.worker")
        assert (after["created"], after["delivered"]) == (before["created"], before["delivered"])
        return done

    done = on(cluster, use)
    assert [step["ending"] for step in done["steps"]] == ["refused"], done
    assert "stop it first" in json.dumps(done["steps"])


@pytest.mark.parametrize("version", [pytest.param("2.10.26", marks=pytest.mark.nightly)])
def test_frozen_sources_go_on(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    """A message id that comes twice from upstream stops the copying before 2.12.8."""
    cluster = cluster_factory(version)

    async def plant(to: PlainApi) -> None:
        await add_stream(to.client, "ORIGIN", subjects=["origin"], duplicate_window=100_000_000, **BOUNDS)
        await store(to.client, "origin", "1")
        for _ in range(2):
            await store_again(to.client, "origin", "1")
        window = {"duplicate_window": 120 * SECOND_NS}
        await add_stopped_mirror(to.client, "COPY", "ORIGIN", **BOUNDS)
        await add_stream(to.client, "ALL", sources=[{"name": "ORIGIN"}], **BOUNDS, **window)
        await holds(to, "ALL", 1)

    on(cluster, plant)
    words = ("--select", "JSD607", "--remedy", "JSD607=stream.unfreeze_sources", "--set", "JSD607.min_stall=1s")
    done = fix(tmp_path, cluster.url(), *words, "--interval", "3s")
    assert sorted(step["ending"] for step in done["steps"]) == ["for a person", "verified"], done
    # From repeat to repeat: each is taken when the window of the one before is over and the server tries again.
    on(cluster, lambda to: holds(to, "ALL", 3))


def is_missed(cluster: Cluster, victim: str) -> bool:
    """Whether the meta leader counts this one as offline for two seconds, and has all others.

    It knows of a clean stop at once; a leader that was elected since takes three minutes.
    """
    leader = cluster.meta_leader()
    peers = cluster.monitor(leader, "/jsz")["meta_cluster"].get("replicas", []) if leader else []
    lacking = {peer["name"] for peer in peers if peer.get("offline") or not peer["current"]}
    offline = [p for p in peers if p["name"] == victim and p.get("offline") and p["active"] > 2 * SECOND_NS]
    return lacking == {victim} and len(offline) == 1


@pytest.mark.nightly
def test_a_server_that_is_gone_is_removed(cluster_factory: ClusterFactory, server_version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(server_version, nodes=3)
    on(cluster, lambda to: add_stream(to.client, "R3", subjects=["r3"], num_replicas=3, **BOUNDS))
    victim = next(name for name in cluster.names if name != cluster.meta_leader())
    words = ("--select", "JSD703", "--remedy", "JSD703=server.remove_peer,silent_s=1,unseen=APP", "--interval", "2s")
    plan = planned(tmp_path, cluster.url("sys"), *words)
    assert plan["steps"] == [], "nobody is missing"
    cluster.stop(victim)
    wait_until(lambda: is_missed(cluster, victim), f"the meta leader to miss {victim}, and no other", timeout=240)
    running = ",".join(url for url, name in zip(cluster.servers("sys"), cluster.names, strict=True) if name != victim)
    plan = planned(tmp_path, running, *words)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    cluster.start(victim)
    apply = ("--plan", "plan.json")
    back = fix(tmp_path, cluster.url("sys"), *apply, journal="back.jsonl")
    assert set(endings(back).values()) <= {"refused", "nothing to do"}, back
    cluster.stop(victim)
    wait_until(lambda: is_missed(cluster, victim), f"the meta leader to miss {victim}, and no other", timeout=240)
    # Whoever answers first, it is the leader's word that counts.
    replies = with_api(running, jsz_of_all_servers)
    seen = [meta_group_by_leader(victim, list(order)) for order in permutations(replies)]
    assert all(reply == seen[0] and reply["peer"]["active"] > 2 * SECOND_NS for reply in seen), replies
    done = fix(tmp_path, running, *words)
    assert endings(done).get("server.remove_peer") == "verified", json.dumps(done["steps"])
    leader = cluster.meta_leader()
    assert leader
    assert {peer["name"] for peer in cluster.monitor(leader, "/jsz")["meta_cluster"]["replicas"]} == set(
        cluster.names
    ) - {victim, leader}
    assert on(cluster, lambda to: api(to.client, "STREAM.INFO.R3"))["config"]["num_replicas"] == 3


@pytest.mark.nightly
def test_the_meta_leader_that_is_gone_is_removed_when_one_knows(
    cluster_factory: ClusterFactory, server_version: str, tmp_path: Path
) -> None:
    """The next leader has never heard it, and does not know since when it is silent."""
    cluster = cluster_factory(server_version, nodes=3)
    on(cluster, lambda to: add_stream(to.client, "R3", subjects=["r3"], num_replicas=3, **BOUNDS))
    victim = str(wait_until(cluster.meta_leader, "a meta leader"))
    running = ",".join(url for url, name in zip(cluster.servers("sys"), cluster.names, strict=True) if name != victim)
    cluster.stop(victim)
    wait_until(lambda: is_offline(cluster, victim), f"the next meta leader to count {victim} as offline", timeout=300)
    words = ("--select", "JSD703", "--interval", "2s", "--remedy")
    refused = fix(tmp_path, running, *words, "JSD703=server.remove_peer,unseen=APP", journal="asked.jsonl")
    assert endings(refused).get("server.remove_peer") == "refused", json.dumps(refused["steps"])
    (step,) = refused["steps"]
    # A server of 2.10 has seen all others from the beginning.
    assert step["text"].startswith(f"the meta leader {'saw' if server_version < '2.11' else 'has not seen'} {victim}")
    done = fix(tmp_path, running, *words, "JSD703=server.remove_peer,silent_s=0,unseen=APP", journal="known.jsonl")
    assert endings(done).get("server.remove_peer") == "verified", json.dumps(done["steps"])


def is_offline(cluster: Cluster, victim: str) -> bool:
    """Whether another server leads, and has flagged this one."""
    leader = cluster.meta_leader()
    peers = cluster.monitor(leader, "/jsz")["meta_cluster"].get("replicas", []) if leader not in {None, victim} else []
    return {peer["name"] for peer in peers if peer.get("offline") or not peer["current"]} == {victim}
