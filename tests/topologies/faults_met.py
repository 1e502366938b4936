"""The fifth table of faults of applications: clients that lose connections, publishes that are refused, readers that
take each other's messages.

As in `faults.py`, the rule that must name each fault was declared before the first run. A code that the rules do not
have is that of a rule which was found to be missing when the fault was written down. The refusals of JSD623 were
declared for their streams, which the errors do not name. Connections show to the system account only, so the table is
judged with its login and with that of the account.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import nats
from nats.aio.client import Client

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.faults import Table
from tests.topologies.faults_of_applications import asks
from tests.topologies.faults_of_streams import publishes
from tests.topologies.habits import SECOND_NS, Furnish, Place

MET_FAULTS = Table()
fault = MET_FAULTS.fault
SERVER_SETTINGS = 'ping_interval: "2s"\nping_max: 2\n'
"""Clients that do not respond to PING are closed within seconds."""


@contextlib.asynccontextmanager
async def raw_client(place: Place, name: str, **options: Any) -> AsyncIterator[socket.socket]:
    """A client of its own making, logged in, on a socket that its user reads and writes."""
    url = place.client.connected_url
    assert url is not None
    with contextlib.closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, (url.hostname, url.port))
        hello = {"verbose": False, "user": "app", "pass": "app", "name": name, "lang": "own", "version": "1"}
        await loop.sock_sendall(connection, f"CONNECT {json.dumps({**hello, **options})}\r\nPING\r\n".encode())
        received = b""
        while b"PONG" not in received:
            chunk = await loop.sock_recv(connection, 4096)
            if not chunk or b"-ERR" in chunk:
                raise ConnectionError(chunk)
            received += chunk
        yield connection


async def named_client(place: Place, name: str) -> Client:
    url = place.client.connected_url
    assert url is not None
    return await nats.connect(f"nats://app:app@{url.hostname}:{url.port}", name=name, allow_reconnect=False)


@contextlib.asynccontextmanager
async def working_client(place: Place, name: str) -> AsyncIterator[Client]:
    """A client that is closed whenever its work ends."""
    client = await named_client(place, name)
    try:
        yield client
    finally:
        await client.close()


async def crash_and_start_again(place: Place) -> None:
    while True:
        async with raw_client(place, "met-crashes"):
            await asyncio.sleep(0.8)


@fault("JSD846", "met-crashes", crash_and_start_again)
async def application_that_crashes_when_it_has_started(place: Place) -> None:
    """Its supervisor starts it again."""


async def connect_for_each_message(place: Place) -> None:
    while True:
        async with working_client(place, "met-each") as client:
            await client.publish("met.each", b"x")
            await client.drain()
        await asyncio.sleep(0.2)


@fault("JSD846", "met-each", connect_for_each_message)
async def application_that_opens_a_connection_for_each_message(place: Place) -> None:
    """https://github.com/nats-io/nats.go/issues/1128 and guides of all clients: a connection is meant to stay."""


async def ignore_pings(place: Place) -> None:
    loop = asyncio.get_running_loop()
    while True:
        async with raw_client(place, "met-pings") as connection:
            while await loop.sock_recv(connection, 4096):
                pass


@fault("JSD846", "met-pings", ignore_pings, ignore_pings)
async def client_that_does_not_respond_to_pings(place: Place) -> None:
    """Its event loop is blocked, or a firewall drops what is idle: `Stale Connection`."""


async def reset(place: Place) -> None:
    while True:
        async with raw_client(place, "met-resets") as connection:
            await asyncio.sleep(1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@fault("JSD846", "met-resets", reset)
async def client_whose_connections_are_reset(place: Place) -> None:
    """A proxy between client and server ends each of them."""


async def read_nothing(place: Place) -> None:
    loop = asyncio.get_running_loop()
    async with raw_client(place, "met-slow") as connection:
        await loop.sock_sendall(connection, b"SUB met.flood 1\r\nPING\r\n")
        await asyncio.sleep(3)
        for _ in range(2500):
            await place.client.publish("met.flood", b"x" * 60_000)
            await asyncio.sleep(0)
        await asyncio.sleep(3600)


@fault("JSD806", "", read_nothing, mentions="met-slow")
async def subscriber_that_reads_nothing(place: Place) -> None:
    """Without logs: the list of closed connections and the counters of the server."""


async def no_responders_without_headers(place: Place) -> None:
    while True:
        with contextlib.suppress(OSError):
            async with raw_client(place, "met-headers", no_responders=True, headers=False):
                await asyncio.sleep(1)
        await asyncio.sleep(2)


@fault("JSD845", "", no_responders_without_headers, mentions="met-headers")
async def client_that_wants_no_responders_without_headers(place: Place) -> None:
    """The server closes it: the status comes in a header."""


async def leak_subscriptions(place: Place) -> None:
    async with working_client(place, "met-leak") as client:
        while True:
            for _ in range(200):
                await client.subscribe(client.new_inbox())
            await asyncio.sleep(0.5)


@fault("JSD847", "met-leak", leak_subscriptions)
async def application_that_never_unsubscribes_the_inboxes_of_its_requests(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/2063: memory grows on every server of the cluster."""


def tries(subject: str, code: int, **headers: str) -> Furnish:
    """A publisher whose messages are refused with that error."""

    async def publish(place: Place) -> None:
        while True:
            reply = await place.client.request(subject, b"1", timeout=10, headers=headers or None)
            assert f'"err_code":{code}'.encode() in reply.data, reply.data
            await asyncio.sleep(0.3)

    return publish


@fault("JSD603", "M_DEVICES", tries("m_devices.d1", 10077))
async def subject_that_is_full_in_a_stream_that_is_not(place: Place) -> None:
    await place.stream("M_DEVICES", discard="new", discard_new_per_subject=True, max_msgs_per_subject=10, max_msgs=1000)
    await place.publish("m_devices.d1", 10)
    await place.publish("m_devices.d2", 3)


@fault("JSD603", "M_SEALED", tries("m_sealed.x", 10109))
async def sealed_stream_that_applications_publish_to(place: Place) -> None:
    await place.stream("M_SEALED")
    await place.publish("m_sealed.x", 10)
    await seal(place, "M_SEALED")


async def seal(place: Place, name: str) -> None:
    info = await api(place.client, f"STREAM.INFO.{name}")
    await api(place.client, f"STREAM.UPDATE.{name}", {**info["config"], "sealed": True})


def logs_refusals(subject: str, **headers: str) -> Furnish:
    """A publisher that logs the error which its client library raises: servers log and count no refused publish."""

    async def publish(place: Place) -> None:
        while True:
            try:
                await place.client.jetstream().publish(subject, b"1", timeout=10, headers=headers)
            except nats.js.errors.APIError as error:
                place.logged.append(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S},000 ERROR publish failed: {error}")
            await asyncio.sleep(0.3)

    return publish


@fault("JSD623", "", logs_refusals("m_ttl.x", **{"Nats-TTL": "60s"}), since=(2, 11), mentions="allow_msg_ttl")
async def publisher_with_a_time_to_live_that_the_stream_does_not_allow(place: Place) -> None:
    """https://github.com/nats-io/nats-server/discussions: every publish ends with `per-message TTL is disabled`."""
    await place.stream("M_TTL")


@fault(
    "JSD623",
    "",
    logs_refusals("m_atomic.x", **{"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"}),
    since=(2, 12),
    mentions="allow_atomic",
)
async def batch_on_a_stream_that_does_not_allow_it(place: Place) -> None:
    await place.stream("M_ATOMIC")


@fault("JSD623", "", logs_refusals("m_counter.x", **{"Nats-Incr": "+1"}), since=(2, 12), mentions="allow_msg_counter")
async def increment_on_a_stream_that_counts_nothing(place: Place) -> None:
    await place.stream("M_COUNTER")


@fault("JSD622", "M_BRIEFMIRROR")
async def mirror_that_keeps_less_than_its_origin(place: Place) -> None:
    """Readers of the mirror miss what is still in the origin."""
    await place.stream("M_BRIEF")
    await place.stream("M_BRIEFMIRROR", mirror={"name": "M_BRIEF"}, max_age=HOUR_NS, max_msgs_per_subject=5)
    await place.publish("m_brief.x", 50)


@fault("JSD622", "M_FOREVERMIRROR", since=(2, 11))
async def mirror_that_keeps_what_expires_in_its_origin(place: Place) -> None:
    """The origin allows a time to live for each message, its mirror does not: it keeps them for its own `max_age`."""
    await place.stream("M_FOREVER", allow_msg_ttl=True)
    await place.stream("M_FOREVERMIRROR", mirror={"name": "M_FOREVER"})
    await place.publish("m_forever.x", 50, **{"Nats-TTL": "5s"})


async def two_subscribers(place: Place) -> None:
    async def acknowledge(message: Any) -> None:
        if message.reply:
            await message.respond(b"+ACK")

    async with working_client(place, "met-first") as first, working_client(place, "met-second") as second:
        for client in (first, second):
            await client.subscribe("deliver.m_both", cb=acknowledge)
        await asyncio.sleep(3600)


@fault(
    "JSD422",
    "M_BOTH/push",
    two_subscribers,
    publishes("m_both.x", 1, 0.3),
    missed="a consumer shows that somebody subscribes, not how many; lists of all subscriptions are not requested",
)
async def two_subscribers_of_one_push_consumer_without_a_queue_group(place: Place) -> None:
    """https://github.com/nats-io/nats.go/issues/1174: each message is worked on twice."""
    await place.stream("M_BOTH")
    await add_consumer(place.client, "M_BOTH", "push", deliver_subject="deliver.m_both")


@fault(
    "JSD412",
    "M_SHARED/workers",
    *(asks("M_SHARED", "workers", 1, batch=10, expires=SECOND_NS) for _ in range(4)),
    publishes("m_shared.x", 1, 0.5),
)
async def workers_that_acknowledge_the_messages_of_each_other(place: Place) -> None:
    """`ack_policy: all`: an acknowledgement covers all messages before it, whoever has them."""
    await place.stream("M_SHARED")
    await add_consumer(place.client, "M_SHARED", "workers", ack_policy="all")


@fault(
    "JSD426",
    "M_POLLED/worker",
    *(asks("M_POLLED", "worker", 0.005, batch=1, no_wait=True) for _ in range(2)),
    missed="no rule: pull requests are no API calls, and a consumer does not count those that ended at once",
)
async def client_that_polls_in_a_loop_without_waiting(place: Place) -> None:
    """Hundreds of requests a second for nothing."""
    await place.stream("M_POLLED")
    await add_consumer(place.client, "M_POLLED", "worker")


async def create_in_vain(place: Place) -> None:
    """What a worker does that starts, is refused, ends, and is started again."""
    config = {"durable_name": "second", "ack_policy": "explicit", "filter_subject": "m_refused.x"}
    while True:
        body = json.dumps({"stream_name": "M_REFUSED", "config": config}).encode()
        reply = await place.client.request("$JS.API.CONSUMER.DURABLE.CREATE.M_REFUSED.second", body, timeout=10)
        assert b'"error"' in reply.data, reply.data
        await asyncio.sleep(0.5)


@fault("JSD807", ".", create_in_vain, blurred=True)
async def worker_whose_consumer_is_refused_again_and_again(place: Place) -> None:
    """A work queue has one consumer for each subject, and another worker names the same one."""
    await place.stream("M_REFUSED", retention="workqueue")
    await add_consumer(place.client, "M_REFUSED", "worker", filter_subject="m_refused.x")


async def read_one_message_for_each_consumer(place: Place) -> None:
    for number in range(1_000_000):
        config = {"name": f"r{number}", "ack_policy": "none", "deliver_policy": "last", "inactive_threshold": HOUR_NS}
        await api(place.client, f"CONSUMER.CREATE.M_READERS.r{number}", {"stream_name": "M_READERS", "config": config})
        await asyncio.sleep(0.15)


@fault(
    "JSD420",
    "M_READERS",
    read_one_message_for_each_consumer,
    options=("--set", "JSD420.idle_for=5s"),
)
async def reader_that_leaves_a_consumer_for_each_message(place: Place) -> None:
    await place.stream("M_READERS")
    await place.publish("m_readers.x", 10)


@fault("JSD427", "M_BODILESS/worker")
async def worker_of_a_queue_that_receives_headers_only(place: Place) -> None:
    """The stream deletes each message when it is acknowledged, and nobody has read its body."""
    await place.stream("M_BODILESS", retention="workqueue")
    await add_consumer(place.client, "M_BODILESS", "worker", headers_only=True)
    await place.publish("m_bodiless.x", 10)


@fault("JSD428", "M_REPLAYED/worker", asks("M_REPLAYED", "worker", 1, batch=1, expires=SECOND_NS))
async def durable_that_replays_at_the_pace_of_the_past(place: Place) -> None:
    """Declared first: with a worker that requests a hundred. Each request that finds none waiting is served at once, so
    that on a busy machine this one caught up.
    """
    await place.stream("M_REPLAYED")
    for _ in range(50):
        await place.publish("m_replayed.x", 4)
        await asyncio.sleep(0.5)
    await add_consumer(place.client, "M_REPLAYED", "worker", replay_policy="original")


MET_FAULTS[-1].busy += (publishes("m_replayed.x", 10, 0.2),)


@fault(
    "JSD422",
    "M_QUEUES/",
    *(asks("M_QUEUES", f"billing-{number}", 1, batch=10, expires=SECOND_NS) for number in range(2)),
    publishes("m_queues.x", 1, 0.3),
    missed="nothing is wrong for the servers: two services that each read all orders are set up in the same way",
)
async def two_durables_of_one_service_that_each_take_every_message(place: Place) -> None:
    """Each replica of a service made a durable of its own: `billing-0` and `billing-1` both work on all orders."""
    await place.stream("M_QUEUES")
    for name in ("billing-0", "billing-1"):
        await add_consumer(place.client, "M_QUEUES", name)
