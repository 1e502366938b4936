"""Deployments with faults of configuration, publishers and deployment scripts that operators meet every day.

As in the tables before, the rule that must name each fault, and the subject of its finding, were declared before the
first run.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from datetime import UTC, datetime

import nats
from nats.errors import Error

from tests.support.deployment import add_consumer, add_stream, api
from tests.topologies.deployments import single
from tests.topologies.deployments_reported import goes_on
from tests.topologies.faults_of_deployments import BrokenDeployments, stored
from tests.topologies.habits import BOUNDED
from tests.topologies.landscape import ACCOUNTS, Landscape, server

EVERYDAY = BrokenDeployments()
broken = EVERYDAY.broken


def log_errors(land: Landscape, name: str, errors: list[Error]) -> None:
    """The log of an application of that name, with what its client library raised."""
    directory = land.directory / "applications"
    directory.mkdir(exist_ok=True)
    with (directory / f"{name}.log").open("a", encoding="utf-8") as log:
        for error in errors:
            now = datetime.now(UTC)
            log.write(f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d} ERROR publish failed: {error}\n")


# Configuration


@broken("JSD819", "n1", logs=True)
def reload_that_would_move_the_store(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/7990: the server refuses, and only its log shows it."""
    single(land)
    path = land.node("n1").directory / "server.conf"
    path.write_text(path.read_text(encoding="utf-8").replace("store_dir: store", "store_dir: other"), encoding="utf-8")
    land.signal("n1", signal.SIGHUP)
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD813", "n1")
def server_that_flushes_its_files_every_ten_minutes(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/4542: a power cut takes back what was acknowledged."""
    limits = 'jetstream { store_dir: store, max_memory_store: 64M, max_file_store: 4G, sync_interval: "10m" }\n'
    land.start("n1", server("n1", storage=False) + limits)
    stored(land.url(), "ORDERS")
    return land.url(user="sys")


@broken("JSD810", "n1")
def server_that_anybody_may_use(land: Landscape) -> str:
    """https://github.com/owncloud/ocis/pull/12317: an event bus without a login."""
    single(land, accounts="")
    stored(land.url(), "ORDERS")
    return land.url()


# Publishers


@broken("JSD613", "publisher", logs=True)
def publisher_with_a_subject_that_no_stream_takes(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2342: the stream takes `orders.*`, and it sends one token more."""
    single(land)
    stored(land.url(), "ORDERS", 0, subjects=["orders.*"])

    async def publish() -> list[Error]:
        errors: list[Error] = []
        client = await nats.connect(land.url())
        for _ in range(10):
            try:
                await client.jetstream().publish("orders.eu.created", b"x", timeout=5)
            except Error as error:
                errors.append(error)
        await client.close()
        return errors

    log_errors(land, "publisher", asyncio.run(publish()))
    return land.url(user="sys")


@broken("JSD201", "writer", logs=True)
def two_writers_of_which_one_never_reads_the_sequence_again(land: Landscape) -> str:
    """https://github.com/nats-io/nats.deno/issues/385: `wrong last sequence` until the bucket is deleted."""
    single(land)
    stored(land.url(), "ORDERS")

    async def write() -> list[Error]:
        errors: list[Error] = []
        client = await nats.connect(land.url())
        expected = {"Nats-Expected-Last-Sequence": "10"}
        await client.jetstream().publish("orders", b"x", headers=expected)
        for _ in range(10):
            try:
                await client.jetstream().publish("orders", b"x", headers=expected)
            except Error as error:
                errors.append(error)
            await asyncio.sleep(0.2)
        await client.close()
        return errors

    log_errors(land, "writer", asyncio.run(write()))
    return land.url(user="sys")


# Deployment scripts


@broken("JSD203", "APP/ORDERS", "--samples", "3", "--interval", "3s", "--set", "JSD203.settled=0s")
def stream_that_each_deployment_deletes_and_creates(land: Landscape) -> str:
    """https://github.com/centrifugal/centrifugo/pull/1166: to change a setting that cannot be changed."""
    single(land, accounts=ACCOUNTS)

    async def deploy(end: threading.Event) -> None:
        client = await nats.connect(land.url())
        try:
            while not end.is_set():
                await add_stream(client, "ORDERS", subjects=["orders"], **BOUNDED)
                await add_consumer(client, "ORDERS", "worker")
                for _ in range(20):
                    await client.request("orders", b"x", timeout=10)
                await asyncio.sleep(3)
                await api(client, "STREAM.DELETE.ORDERS")
        finally:
            await client.close()

    goes_on(land, deploy)
    time.sleep(5)
    return land.url(user="sys")


@broken("JSD411", "APP/ORDERS/worker", "--samples", "3", "--interval", "3s", "--set", "JSD411.settled=0s")
def durable_that_each_deployment_creates_again_at_the_end(land: Landscape) -> str:
    """https://github.com/quarkiverse/quarkus-reactive-messaging-nats-jetstream/pull/205: deleted and created again.

    Declared first: JSD407, on a stream of the applications' table.
    """
    single(land)
    stored(land.url(), "ORDERS", 0)

    async def deploy(end: threading.Event) -> None:
        client = await nats.connect(land.url())
        try:
            while not end.is_set():
                await add_consumer(client, "ORDERS", "worker", deliver_policy="new")
                for _ in range(20):
                    await client.request("orders", b"x", timeout=10)
                await asyncio.sleep(3)
                await api(client, "CONSUMER.DELETE.ORDERS.worker")
        finally:
            await client.close()

    goes_on(land, deploy)
    time.sleep(5)
    return land.url(user="sys")
