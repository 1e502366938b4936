"""One symptom, several causes: a limit is raised only where it is the cause, and verified by what gets better."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error

from tests.cli.invoke import jsdoctor
from tests.real.fixing import apply, config_of, endings, fix, info_of, rollback
from tests.servers import DEFAULT_VERSION, Cluster, ClusterFactory
from tests.support.deployment import Json, add_consumer, add_stream
from tests.support.outage import with_client

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]

SECOND_NS = 1_000_000_000
PATIENCE = ("--patience", "5s")
APPLY = ("--apply", "--yes", "--journal", "j.jsonl")


@pytest.fixture
def cluster(shared_cluster: ClusterFactory) -> Cluster:
    """One server without streams."""
    cleared = shared_cluster(DEFAULT_VERSION, 1, extra_config="# causes\n")

    async def clear(client: Client) -> None:
        reply = await client.request("$JS.API.STREAM.NAMES", b"", timeout=10)
        for name in json.loads(reply.data)["streams"] or ():
            await client.request(f"$JS.API.STREAM.DELETE.{name}", b"", timeout=10)

    with_client(cleared, clear)
    return cleared


def planned(cluster: Cluster, cwd: Path, code: str, *arguments: str) -> list[Json]:
    """The steps of the plan for one rule, from three looks."""
    where = ("--isolated", "--server", cluster.url("app"), "--format", "json", "--samples", "3", "--interval", "1s")
    done = jsdoctor("fix", "--select", code, *where, *arguments, cwd=cwd, timeout=240)
    assert done.stdout, done.stderr
    steps: list[Json] = json.loads(done.stdout)["steps"]
    return steps


@asynccontextmanager
async def working(cluster: Cluster, *works: Callable[[Client], Awaitable[None]]) -> AsyncIterator[None]:
    """Clients that go on with something while a fix runs."""
    client = await nats.connect(cluster.servers("app"), connect_timeout=10)
    stopping = asyncio.Event()

    async def repeat(work: Callable[[Client], Awaitable[None]]) -> None:
        while not stopping.is_set():  # a request may swallow the cancellation of its task
            with suppress(Error, TimeoutError):
                await work(client)
            await asyncio.sleep(0.02)

    tasks = [asyncio.create_task(repeat(work)) for work in works]
    try:
        yield
    finally:
        stopping.set()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=10)
        with suppress(Error, TimeoutError):
            await asyncio.wait_for(client.close(), 10)


def while_working(
    cluster: Cluster, works: Sequence[Callable[[Client], Awaitable[None]]], run: Callable[[], Any]
) -> Any:
    """What `run` returns, with clients at work beside it."""

    async def both() -> Any:
        async with working(cluster, *works):
            await asyncio.sleep(1)
            return await asyncio.to_thread(run)

    return asyncio.run(both())


def publisher(subject: str) -> Callable[[Client], Awaitable[None]]:
    async def publish(client: Client) -> None:
        await client.request(subject, b"x", timeout=2)

    return publish


def worker(stream: str, name: str, batch: int, hold_s: float) -> Callable[[Client], Awaitable[None]]:
    """A worker that fetches, takes its time, and acknowledges."""

    async def work(client: Client) -> None:
        subscription = await client.jetstream().pull_subscribe_bind(name, stream)
        try:
            for message in await subscription.fetch(batch, timeout=1):
                await asyncio.sleep(hold_s)
                await message.ack()
        finally:
            await subscription.unsubscribe()

    return work


async def left_by_a_dead_worker(client: Client) -> None:
    """It took all that the consumer may have in its hands, and acknowledged nothing."""
    await add_stream(client, "ORDERS", subjects=["orders"], max_bytes=1 << 20, max_age=3600 * SECOND_NS)
    await add_consumer(client, "ORDERS", "billing", max_ack_pending=50, ack_wait=SECOND_NS)
    for _ in range(400):
        await client.publish("orders", b"x")
    await client.flush()
    subscription = await client.jetstream().pull_subscribe_bind("billing", "ORDERS")
    held = 0
    while held < 50:
        held += len(await subscription.fetch(50 - held, timeout=5))
    await subscription.unsubscribe()
    await asyncio.sleep(3)


def test_a_dead_worker_is_restarted_and_no_limit_raised(cluster: Cluster, tmp_path: Path) -> None:
    """A limit that somebody raises nevertheless is not better until there is a worker."""
    with_client(cluster, left_by_a_dead_worker)
    (step,) = planned(cluster, tmp_path, "JSD403")
    assert step["risk"] == "manual"
    assert step["effect"].startswith("Restart the workers: what they hold comes again")
    assert not any("--max-pending" in command for command in step["commands"])
    chosen = ("--remedy", "JSD403=consumer.raise_max_ack_pending,max_ack_pending=100")
    done = fix(cluster, tmp_path, *APPLY, "--format", "json", "--select", "JSD403", *chosen, *PATIENCE)
    (outcome,) = json.loads(done.stdout)["steps"]
    assert (done.returncode, outcome["ending"]) == (1, "applied, not better")
    assert "nothing was delivered since, and 400 messages wait" in outcome["text"]
    assert "look at the workers" in outcome["text"]
    assert json.loads(config_of(cluster, "ORDERS", "billing"))["max_ack_pending"] == 100
    resumed = ("fix", "--resume", "--yes", "--journal", "j.jsonl", "--isolated", "--server", cluster.url("app"))
    works = [worker("ORDERS", "billing", 20, 0.0)]
    done = while_working(cluster, works, lambda: jsdoctor(*resumed, cwd=tmp_path, timeout=240))
    assert (done.returncode, "verified" in done.stdout) == (0, True), done.stdout
    assert rollback(cluster, tmp_path).returncode == 0
    assert json.loads(config_of(cluster, "ORDERS", "billing"))["max_ack_pending"] == 50


def test_a_limit_that_keeps_workers_waiting_is_raised_and_the_lag_falls(cluster: Cluster, tmp_path: Path) -> None:
    async def plant(client: Client) -> None:
        await add_stream(client, "BUSY", subjects=["busy"], max_bytes=1 << 20, max_age=3600 * SECOND_NS)
        await add_consumer(client, "BUSY", "slow", max_ack_pending=2)
        for _ in range(300):
            await client.publish("busy", b"x")
        await client.flush()

    with_client(cluster, plant)
    works = [publisher("busy"), *[worker("BUSY", "slow", 1, 0.3)] * 16]
    judged = ("--set", "JSD402.min_pending=50", "--set", "JSD402.min_wait=1s", "--set", "JSD402.burst=1ms")
    steps = while_working(cluster, works, lambda: planned(cluster, tmp_path, "JSD402", *judged))
    assert [(step["action"], step["changes"][0]["after"]) for step in steps] == [("consumer.raise_max_ack_pending", 4)]
    assert steps[0]["better_when"] == "deliveries and acknowledgements go on"


FULL: dict[str, Any] = {"max_msgs": 10, "max_bytes": 1 << 20, "discard": "new"}


async def fill(client: Client, name: str, **config: Any) -> None:
    await add_stream(client, name, subjects=[name.lower()], **{**FULL, **config})
    for _ in range(10):
        await client.request(name.lower(), b"x", timeout=10)


def test_a_full_stream_that_expires_gets_room_and_takes_publishes(cluster: Cluster, tmp_path: Path) -> None:
    with_client(cluster, lambda client: fill(client, "RECENT", max_age=3600 * SECOND_NS, max_msgs=10))

    def run() -> list[Json]:
        chosen = ("--remedy", "JSD603=stream.raise_limits,max_msgs=100000")
        return apply(cluster, tmp_path, "--select", "JSD603", *chosen, *PATIENCE)

    (step,) = planned(cluster, tmp_path, "JSD603")
    assert (step["action"], step["risk"]) == ("stream.raise_limits", "safe")
    assert endings(while_working(cluster, [publisher("recent")], run)) == {"stream.raise_limits RECENT": "verified"}
    assert info_of(cluster, "RECENT")["state"]["messages"] > 10


def test_room_without_a_publisher_is_not_proved(cluster: Cluster, tmp_path: Path) -> None:
    with_client(cluster, lambda client: fill(client, "QUIET", max_age=3600 * SECOND_NS))
    (step,) = apply(cluster, tmp_path, "--select", "JSD603", *PATIENCE)
    assert step["ending"] == "done, not proved"
    assert "the stream has room, and nothing was published to it since" in step["text"]


def test_a_full_work_queue_waits_for_its_workers(cluster: Cluster, tmp_path: Path) -> None:
    async def plant(client: Client) -> None:
        await add_stream(client, "QUEUE", subjects=["queue"], retention="workqueue", **FULL)
        await add_consumer(client, "QUEUE", "mailer")
        for _ in range(10):
            await client.request("queue", b"x", timeout=10)

    with_client(cluster, plant)
    (step,) = planned(cluster, tmp_path, "JSD603")
    assert step["risk"] == "manual"
    assert step["effect"].startswith("Get the workers of mailer going again")
    works = [publisher("queue"), publisher("queue"), worker("QUEUE", "mailer", 1, 0.2)]
    steps = while_working(cluster, works, lambda: planned(cluster, tmp_path, "JSD603"))
    assert [step["action"] for step in steps] in (["stream.raise_limits"], [])
