"""`jsdoctor where`: questions with known answers, on a real server with streams whose messages went in every way."""

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor_warm
from tests.real.contexts import contexts
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.servers.deployments import do
from tests.servers.landscape import Landscape, server
from tests.sources.operator_mode import Operator, creds
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.outage import with_client

pytestmark = pytest.mark.real
SECOND = 1_000_000_000


async def stored(client: Client, subject: str, count: int, size: int = 10) -> None:
    for _ in range(count):
        await client.request(subject, b"x" * size, timeout=10)


async def taken(client: Client, stream: str, consumer: str, count: int) -> None:
    fetched = await client.jetstream().pull_subscribe_bind(consumer, stream)
    for message in await fetched.fetch(count, timeout=10):
        await message.ack_sync()


async def plant(client: Client) -> None:
    await add_stream(client, "ORDERS", subjects=["orders.>"])
    await stored(client, "orders.new", 10)
    await add_consumer(client, "ORDERS", "all", ack_policy="explicit")
    await add_consumer(client, "ORDERS", "eu", ack_policy="explicit", filter_subject="orders.eu.>")
    await taken(client, "ORDERS", "all", 4)
    await add_stream(client, "COPY", mirror={"name": "ORDERS"})
    await add_stream(client, "BOTH", sources=[{"name": "ORDERS"}, {"name": "JOBS"}])
    await add_stream(client, "JOBS", subjects=["jobs"], retention="workqueue")
    await stored(client, "jobs", 5)
    await add_consumer(client, "JOBS", "worker", ack_policy="explicit")
    await taken(client, "JOBS", "worker", 3)
    await add_stream(client, "SHORT", subjects=["short"], max_age=2 * SECOND, duplicate_window=SECOND)
    await stored(client, "short", 3)
    await add_stream(client, "FEW", subjects=["few"], max_msgs=5)
    await stored(client, "few", 8)
    await add_stream(client, "SMALL", subjects=["small"], max_bytes=3_000)
    await stored(client, "small", 8, 600)
    await add_stream(client, "LATEST", subjects=["latest.*"], max_msgs_per_subject=1)
    await stored(client, "latest.a", 3)
    await add_stream(client, "EMPTIED", subjects=["emptied"])
    await stored(client, "emptied", 6)
    await api(client, "STREAM.PURGE.EMPTIED", {"keep": 2})
    await add_stream(client, "HOLES", subjects=["holes"])
    await stored(client, "holes", 6)
    await api(client, "STREAM.MSG.DELETE.HOLES", {"seq": 3})
    await asyncio.sleep(2.5)
    await stored(client, "short", 1)
    await asyncio.sleep(2)  # the first message that is left is as old as the limit


QUESTIONS = {
    "ORDERS": "app > orders is on ",
    "ORDERS/all": "app > orders > all is on ",
    "ORDERS/nobody": "orders has no consumer 'nobody' that was seen",
    "ORDRES": "no stream that was seen stores ordres; did you mean 'orders'?",
    "orders.new": "orders.new is stored by app > orders",
    "orders.>": "orders.> is stored by app > orders",
    "oders.new": "no stream that was seen stores oders.new; near: orders.> of app > orders",
    "bills.new": "no stream that was seen stores bills.new",
    "jobs": "jobs is stored by app > jobs",
    "latest.b": "latest.b is stored by app > latest",
    "COPY": "app > copy is on ",
    "ORDERS#1": "orders#1: stored: nothing is missing between 1 and 10",
    "ORDERS#11": "orders#11: not stored yet: the last sequence is 10",
    "COPY#10": "copy#10: stored",
    "JOBS#2": "jobs#2: gone: the stream begins at 4; acknowledged, as in every work queue",
    "JOBS#4": "jobs#4: stored",
    "FEW#1": "few#1: gone: the stream begins at 4; evicted by max_msgs 5",
    "FEW#8": "few#8: stored",
    "SMALL#1": "evicted by max_bytes 3,000",
    "LATEST#1": "replaced by newer ones of its subject (max_msgs_per_subject 1)",
    "LATEST#3": "latest#3: stored",
    "EMPTIED#1": "emptied#1: gone: the stream begins at 5; purged or deleted",
    "EMPTIED#6": "emptied#6: stored",
    "HOLES#3": "holes#3: undecided: 1 sequence between 1 and 6 are gone; nats stream get holes 3 decides",
    "HOLES#7": "holes#7: not stored yet",
    "NOTHING#1": "no stream that was seen is named 'nothing'",
}
FACTS = {
    "ORDERS": ("mirrored by app > copy", "sourced by app > both", "read by all (pull): 6 pending, 0 unacknowledged"),
    "COPY": ("mirror of orders",),
    "orders.new": ("taken by all (pull): 6 pending", "not by eu, whose filters differ"),
    "ORDERS/all": ("delivered up to 4, acknowledged up to 4",),
    "ORDERS#4": ("all: acknowledged or passed (floor 4)",),
    "ORDERS#5": ("all: not delivered yet", "eu: has delivered nothing yet"),
}


@pytest.mark.parametrize(
    "version", [*VERSIONS[-1:], *(pytest.param(v, marks=pytest.mark.nightly) for v in VERSIONS[:-1])]
)
def test_questions_with_known_answers(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version)
    with_client(cluster, plant)
    asked = list(dict.fromkeys((*QUESTIONS, *FACTS, "SHORT#1")))
    answers = answered(cluster, tmp_path, *asked)
    judged(answers, QUESTIONS, FACTS)
    assert "gone" in answers["SHORT#1"]["sentence"]
    assert "the mappings, imports and exports of APP were not read" in str(answers["orders.new"]["unseen"])


MAPPINGS = """mappings: {
    "in.*": "orders.{{wildcard(1)}}"
    "split.>": [{destination: "orders.a.>", weight: 70%}, {destination: "lost.>", weight: 30%}]
    "orders.dev": "dev.new"
    "lossy": [{destination: "lossy", weight: 90%}]
    "raw.*.*": "feed.{{wildcard(2)}}.{{wildcard(1)}}"
  }
  exports: [{service: "orders.*"}, {stream: "feed.>"}, {service: "turn.*.*"}, {service: "feed.served"}]
"""
IMPORTING = """OTHER {
  jetstream: enabled
  users: [{user: other, password: other}]
  mappings: { "tx.*.*": "their.orders.{{wildcard(2)}}" }
  imports: [
    {service: {account: APP, subject: "orders.*"}, to: "their.orders.*"}
    {service: {account: APP, subject: "turn.*.*"}, to: "turn.$2.$1"}
    {service: {account: APP, subject: "feed.served"}, to: "served"}
    {stream: {account: APP, subject: "feed.>"}, to: "app.feed.>"}
  ]
}
"""
LEADS_TO = {
    "in.zz": ("app", "app", "ORDERS", "orders.zz"),
    "their.orders.q": ("other", "app", "ORDERS", "orders.q"),
    "tx.a.b": ("other", "app", "ORDERS", "orders.b"),
    "feed.x": ("app", "other", "FEED", "app.feed.x"),
    "raw.a.b": ("app", "other", "FEED", "app.feed.b.a"),
    "turn.a.b": ("other", "app", "TURNED", "turn.b.a"),
    "served": ("other", "app", "SERVED", "feed.served"),
    "orders.dev": ("app", "", "", ""),
}
"""Who publishes what, and whose stream stores it under which subject, as the servers do it."""
LED = {
    "in.zz": "in.zz is stored by app > orders",
    "split.x": "split.x is stored by app > orders; app maps split.> to lost.> (30 %) and orders.a.> (70 %),"
    " and no stream that was seen stores lost.x",
    "orders.dev": "no stream that was seen stores orders.dev; app maps orders.dev to dev.new,"
    " and no stream that was seen stores dev.new",
    "orders.*": "orders.* is stored by app > orders; app maps orders.dev to dev.new",
    "lossy": "lossy is stored by app > lossy; app maps lossy to lossy (90 %), and 10 % is dropped",
    "their.orders.q": "their.orders.q is stored by app > orders",
    "tx.a.b": "tx.a.b is stored by app > orders",
    "feed.x": "feed.x is stored by other > feed",
    "raw.a.b": "raw.a.b is stored by other > feed",
    "turn.a.b": "turn.a.b is stored by app > turned",
    "served": "served is stored by app > served",
    "ORDERS": "app > orders is on ",
}
LED_FACTS = {
    "in.zz": ("as orders.zz: app maps in.* to orders.{{wildcard(1)}}", "taken by all", "not by b, whose filters"),
    "split.x": ("70 % as orders.a.x: app maps split.>",),
    "their.orders.q": ("as orders.q: other imports the service orders.* of app",),
    "tx.a.b": (
        "as orders.b: other maps tx.*.* to their.orders.{{wildcard(2)}}, then other imports the service orders.*",
        "taken by b",
    ),
    "raw.a.b": (
        "as app.feed.b.a: app maps raw.*.* to feed.{{wildcard(2)}}.{{wildcard(1)}}, then other imports the stream",
    ),
    "turn.a.b": ("as turn.*.*: other imports the service turn.*.* of app",),
    "served": ("as feed.served: other imports the service feed.served of app",),
    "ORDERS": (
        "app maps in.* to orders.{{wildcard(1)}}",
        "other imports the service orders.* of app",
        "app exports the service orders.*, whose importers publish here",
    ),
}


@pytest.mark.parametrize(
    "version", [*VERSIONS[-1:], *(pytest.param(v, marks=pytest.mark.nightly) for v in VERSIONS[:-1])]
)
def test_subjects_that_mappings_and_imports_lead_elsewhere(
    cluster_factory: ClusterFactory, version: str, tmp_path: Path
) -> None:
    """Each is published as well, and the servers store it where it was said to be."""
    cluster = cluster_factory(version, app_account=f"jetstream: enabled, {MAPPINGS}", accounts=IMPORTING)

    async def streams(client: Client) -> None:
        await add_stream(client, "ORDERS", subjects=["orders.>"])
        await add_stream(client, "LOSSY", subjects=["lossy"])
        await add_stream(client, "TURNED", subjects=["turn.*.*"])
        await add_stream(client, "SERVED", subjects=["feed.served"])
        await add_consumer(client, "ORDERS", "all", ack_policy="explicit")
        await add_consumer(client, "ORDERS", "b", ack_policy="explicit", filter_subject="orders.b")

    with_client(cluster, streams)
    with_client(cluster, lambda client: add_stream(client, "FEED", subjects=["app.feed.>"]), user="other")
    answers = answered(cluster, tmp_path, *LED, user="sys")
    judged(answers, LED, LED_FACTS)
    assert answers["in.zz"]["unseen"] == []
    with contexts(cluster, "sys", "other", at=tmp_path) as logins:
        done = jsdoctor_warm("where", "ORDERS", "FEED", *logins, cwd=tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path)})
    apart = "your login is of account OTHER: it does not reach the JetStream of APP"
    assert apart in " ".join(done.stdout.split())
    assert done.stdout.count("your login") == 1, "not of its own stream"

    for subject, (user, owner, stream, stored_as) in LEADS_TO.items():
        with_client(cluster, partial(publish, subject), user=user)
        if stream:
            wait_until(partial(is_stored, cluster, stream, owner, stored_as), f"{subject} is stored as {stored_as}")
    assert not is_stored(cluster, "ORDERS", "app", "orders.dev")
    assert not is_stored(cluster, "FEED", "other", "app.feed.served"), "imports of streams get nothing of services"


SUBSCRIBED: Mapping[str, tuple[str, ...]] = {
    "ORDERS/pushed": ("a subscriber is there: shop of app on n1 (to.shop, queue workers)",),
    "ORDERS/idle": ("unacknowledged, no subscriber",),
    "ORDERS/pulled": ("servers do not report which connections fetch from a pull consumer",),
    "ORDERS": ("read by pushed (push): 0 pending, 0 unacknowledged, a subscriber is there: shop of app",),
    "orders.new": ("subscribed besides: shop of app on n1 (orders.*)",),
}


@pytest.mark.parametrize(
    "version", [*VERSIONS[-1:], *(pytest.param(v, marks=pytest.mark.nightly) for v in VERSIONS[:-1])]
)
def test_connections_that_subscribe(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version)

    async def subscribed(client: Client) -> dict[str, dict[str, Any]]:
        await add_stream(client, "ORDERS", subjects=["orders.>"])
        await add_consumer(client, "ORDERS", "pushed", deliver_subject="to.shop", deliver_group="workers")
        await add_consumer(client, "ORDERS", "idle", deliver_subject="to.nobody")
        await add_consumer(client, "ORDERS", "pulled", ack_policy="explicit")
        await client.subscribe("to.shop", queue="workers")
        await client.subscribe("orders.*")
        await client.subscribe("prices.>")
        await client.flush()
        asked = (*SUBSCRIBED, "prices.eu", "orders.eu.new", "ORDERS#1")
        return await asyncio.to_thread(answered, cluster, tmp_path, *asked, user="sys")

    answers = do(cluster.url("app"), subscribed, name="shop")
    judged(answers, {"prices.eu": "stores prices.eu; subscribed by shop of app on n1 (prices.>)"}, SUBSCRIBED)
    assert "subscribed" not in str(answers["orders.eu.new"]["found"])
    assert "connections were not read" in str(answered(cluster, tmp_path, "ORDERS/idle", "orders.new"))


def test_connections_of_an_account_with_a_public_key(tmp_path: Path) -> None:
    """In operator mode, 2.10 lists connections with the public key of their account, and streams with its name."""
    operator = Operator(jetstream=True)
    logins = {"app": operator.user(operator.app), "sys": operator.user(operator.system)}
    for name, user in logins.items():
        (tmp_path / f"{name}.creds").write_text(creds(*user), "utf-8")

    with Landscape(tmp_path, VERSIONS[0]) as land:
        land.start("n1", server("n1", accounts=operator.config))
        url = land.node("n1").url

        async def subscribed(client: Client) -> str:
            await add_stream(client, "ORDERS", subjects=["orders"])
            await add_consumer(client, "ORDERS", "pushed", deliver_subject="to.shop")
            await client.subscribe("to.shop")
            await client.flush()
            words = ("where", "ORDERS/pushed", "--isolated", "-s", url, "--creds", str(tmp_path / "sys.creds"))
            return (await asyncio.to_thread(jsdoctor_warm, *words, cwd=tmp_path, env={"COLUMNS": "200"})).stdout

        shown = do(url, subscribed, name="shop", user_credentials=str(tmp_path / "app.creds"))
    assert "a subscriber is there: shop of APP on n1 (to.shop)" in shown


async def publish(subject: str, client: Client) -> None:
    await client.publish(subject, b"x")
    await client.flush()


def is_stored(cluster: Cluster, stream: str, user: str, subject: str) -> bool:
    info = with_client(
        cluster, lambda client: api(client, f"STREAM.INFO.{stream}", {"subjects_filter": subject}), user=user
    )
    return subject in (info["state"].get("subjects") or {})


def judged(answers: dict[str, dict[str, Any]], sentences: dict[str, str], facts: Mapping[str, tuple[str, ...]]) -> None:
    """Each sentence, and each of the facts with it."""
    wrong = {w: answers[w]["sentence"] for w, text in sentences.items() if text not in answers[w]["sentence"].lower()}
    assert wrong == {}
    for word, texts in facts.items():
        known = "\n".join(fact for place in answers[word]["found"] for fact in place["facts"]).lower()
        assert [text for text in texts if text not in known] == [], known


def answered(cluster: Cluster, tmp_path: Path, *asked: str, user: str = "app") -> dict[str, dict[str, Any]]:
    done = jsdoctor_warm("where", *asked, "--isolated", "-s", cluster.url(user), "--format", "json", cwd=tmp_path)
    assert done.returncode in (0, 1, 3), done.stderr
    return {answer["asked"]: answer for answer in json.loads(done.stdout)["results"]}
