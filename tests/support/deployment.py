"""A healthy deployment with every habit that JetStream users have: what jsdoctor must find nothing wrong with.

`furnish` creates it through the raw JetStream API (every field is ours), `Traffic` publishes and consumes on it.
Idle: every consumer has caught up. `tools/record.py` makes the recordings in `fixtures/base` from it.
"""

import asyncio
import json
from types import TracebackType
from typing import Any, Self

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

HOUR_NS = 3_600_000_000_000
Json = dict[str, Any]


_NOT_READY = (10059, 10008, 10014, 10005, 10049, 10039)
"""Stream not found, no leader, consumer not found, no suitable peers, no store; in operator mode, an account that the
meta leader has not loaded yet."""
_EXISTS = (10058, 10148)
"""The name of the stream or of the consumer is in use. Seen again when the first reply was lost: the server has then
added its defaults to the configuration that it compares with ours."""
_NOT_FOUND = (10059, 10014)
"""Stream not found, consumer not found. Seen for a deletion that is sent again: the reply to the first one was lost."""


async def api(client: Client, subject: str, body: Json | None = None, attempts: int = 40) -> Json:
    """One JetStream API request. Asks again while servers are not ready for it, and once where no answer came.

    A new asset may not be known everywhere yet, peers may not all be seen, and a stream that was just deleted may still
    have its directory. The reply to a request that a server of a cluster carried out may be lost: seen for 1 of 400
    deletions of consumers on a busy machine, while the leaders stayed the same.
    """
    answer: Json = {}
    waits = 2
    target = subject
    while True:
        attempts -= 1
        try:
            reply = await client.request(f"$JS.API.{target}", json.dumps(body or {}).encode(), timeout=10)
        except nats.errors.TimeoutError:
            waits -= 1
            if not waits:
                raise
            continue
        answer = json.loads(reply.data)
        refusal = answer.get("error", {}).get("err_code")
        if refusal in _EXISTS and waits == 1:
            target, body = subject.replace(".CREATE.", ".INFO."), None
            continue
        if refusal in _NOT_FOUND and waits == 1 and ".DELETE." in subject:
            return {"success": True}
        if refusal not in _NOT_READY or attempts <= 0:
            break
        await asyncio.sleep(0.1)
    if "error" in answer:
        raise AssertionError(f"{subject}: {answer['error']}")
    return answer


async def add_stream(client: Client, name: str, **config: Any) -> Json:
    """Create a stream; durations in nanoseconds, names as the API has them."""
    created = await api(client, f"STREAM.CREATE.{name}", {"name": name, **config})
    if "name" in created.get("cluster", {}) and config.get("subjects") and not config.get("no_ack"):
        await _until_it_takes_messages(client, name, config["subjects"][0])
    return created


async def _until_it_takes_messages(client: Client, stream: str, subject: str) -> None:
    """Wait until a message reaches the leader of a new stream of a cluster.

    The reply to its creation may come by another route than the interest of its leader: 10 of 900 messages published
    at once had no responders on a busy machine. A message for a stream of another name is refused and not stored.
    """
    probe = subject.replace("*", "probe").replace(">", "probe")
    await _until_taken(client, probe, headers={"Nats-Expected-Stream": f"not {stream}"})


async def add_consumer(client: Client, stream: str, name: str, durable: bool = True, **config: Any) -> Json:
    """Create a consumer, durable unless told otherwise, with explicit acknowledgements unless told otherwise."""
    named = {"name": name, "durable_name": name} if durable else {"name": name}
    full = {"ack_policy": "explicit", **named, **config}
    created = await api(client, f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": full})
    if "deliver_subject" not in full:
        await _until_it_takes_requests(client, stream, name)
    return created


async def _until_it_takes_requests(client: Client, stream: str, consumer: str) -> None:
    """Wait until a request for messages reaches the leader of a new consumer.

    The reply to its creation may come by another route than the interest of its leader. A request of ours that is no
    JSON is refused by the leader (400) and delivers nothing.
    """
    await _until_taken(client, f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", b"{")


async def _until_taken(client: Client, subject: str, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
    """Send the message until a server responds. A user without the permission to send it gets no reply: once then."""
    for _ in range(100):
        try:
            await client.request(subject, body, headers=headers, timeout=1)
        except nats.errors.NoRespondersError:
            await asyncio.sleep(0.05)
        except nats.errors.TimeoutError:
            return
        else:
            return


def streams(replicas: int) -> list[Json]:
    """The streams of a healthy deployment."""
    bounded = {"num_replicas": replicas, "max_age": 72 * HOUR_NS, "max_bytes": 64 << 20}
    return [
        {"name": "ORDERS", "subjects": ["orders.>"], **bounded},
        {"name": "RING", "subjects": ["ring.>"], **bounded, "max_msgs": 50, "discard": "old"},
        {"name": "INTAKE", "subjects": ["intake.>"], **bounded, "max_msgs": 100_000, "discard": "new"},
        {"name": "WORK", "subjects": ["work.>"], **bounded, "retention": "workqueue"},
        {"name": "EVENTS", "subjects": ["events.>"], **bounded, "retention": "interest"},
        {"name": "CACHE", "subjects": ["cache.>"], **bounded, "storage": "memory", "max_bytes": 1 << 22},
        {
            "name": "KV_config",
            "subjects": ["$KV.config.>"],
            "num_replicas": replicas,
            "max_msgs_per_subject": 5,
            "max_bytes": 1 << 22,
            "discard": "new",
            "allow_rollup_hdrs": True,
            "deny_delete": True,
            "allow_direct": True,
        },
        {
            "name": "OBJ_files",
            "subjects": ["$O.files.C.>", "$O.files.M.>"],
            "num_replicas": replicas,
            "max_bytes": 1 << 24,
            "discard": "new",
            "allow_rollup_hdrs": True,
            "allow_direct": True,
        },
        {"name": "COPY", "mirror": {"name": "ORDERS"}, **bounded},
        {
            "name": "ALL",
            "sources": [{"name": "INTAKE"}, {"name": "CACHE"}],
            **bounded,
            "duplicate_window": 120_000_000_000,
        },
    ]


CONSUMERS: list[tuple[str, str, Json]] = [
    ("ORDERS", "billing", {"filter_subject": "orders.paid"}),
    ("ORDERS", "archive", {"ack_wait": 60_000_000_000, "max_deliver": 20}),
    ("ORDERS", "retry", {"backoff": [30_000_000_000, 120_000_000_000], "max_deliver": 3, "deliver_policy": "new"}),
    (
        "ORDERS",
        "notify",
        {"deliver_subject": "deliver.notify", "deliver_group": "notify", "idle_heartbeat": 5_000_000_000},
    ),
    ("ORDERS", "report", {"filter_subjects": ["orders.new", "orders.paid"], "deliver_policy": "last_per_subject"}),
    ("WORK", "mail", {"filter_subject": "work.mail"}),
    ("WORK", "other", {"filter_subjects": ["work.pdf", "work.sms"]}),
    ("EVENTS", "audit", {}),
    ("INTAKE", "import", {"max_ack_pending": 200}),
]


async def furnish(url: str, replicas: int) -> None:
    """Create the deployment, publish to it, and let every consumer catch up."""
    client = await nats.connect(url.split(","))
    try:
        for config in streams(replicas):
            await add_stream(client, **config)
        for stream, name, config in CONSUMERS:
            await add_consumer(client, stream, name, **config)
        bound = await client.subscribe("deliver.notify", queue="notify", cb=_acknowledge)
        await publish(client, 60)
        for stream, name, config in CONSUMERS:
            if "deliver_subject" not in config:
                await drain(client, stream, name)
        await _settled(client)
        await bound.unsubscribe()
    finally:
        await client.close()


SUBJECTS = ("orders.new", "orders.paid", "ring.a", "intake.x", "work.mail", "work.pdf", "events.login", "cache.a")


async def publish(client: Client, count: int) -> None:
    """`count` messages with ids on every subject of the deployment, each acknowledged."""
    for number in range(count):
        for subject in SUBJECTS:
            headers = {"Nats-Msg-Id": f"{subject}-{id(client)}-{number}"}
            await client.request(subject, b"x" * 100, timeout=10, headers=headers)
    for key in ("color", "size"):
        await client.request(f"$KV.config.{key}", b"1", timeout=10)
    await client.request("$O.files.C.one", b"y" * 1000, timeout=10)


async def drain(client: Client, stream: str, consumer: str) -> int:
    """Fetch and acknowledge until the consumer has nothing more; returns how many."""
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    done = 0
    try:
        while True:
            body = json.dumps({"batch": 100, "no_wait": True}).encode()
            await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
            got = 0
            while True:
                msg = await subscription.next_msg(timeout=5)
                if msg.headers and "Status" in msg.headers:
                    break
                await client.request(msg.reply, b"+ACK", timeout=5)
                got += 1
                if got == 100:
                    break
            done += got
            if got < 100:
                return done
    finally:
        await subscription.unsubscribe()


async def _acknowledge(msg: Msg) -> None:
    if msg.reply:
        await msg.respond(b"+ACK")


async def _settled(client: Client) -> None:
    """Wait until mirror, sources and the push consumer have everything."""
    for _ in range(100):
        copy = await api(client, "STREAM.INFO.COPY")
        orders = await api(client, "STREAM.INFO.ORDERS")
        everything = await api(client, "STREAM.INFO.ALL")
        push = await api(client, "CONSUMER.INFO.ORDERS.notify")
        if (
            copy["state"]["last_seq"] == orders["state"]["last_seq"]
            and everything["state"]["messages"] == 120
            and push["num_pending"] == 0
            and push["num_ack_pending"] == 0
        ):
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the deployment did not settle")


class Traffic:
    """Publishers and consumers at work: `async with Traffic(url):` keeps a furnished deployment busy meanwhile."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._tasks: list[asyncio.Task[None]] = []
        # The client's fetch may swallow a cancellation, so the loops ask this flag instead of being cancelled.
        self._stopping = False

    async def __aenter__(self) -> Self:
        self._client = await nats.connect(self._url.split(","))
        await self._client.subscribe("deliver.notify", queue="notify", cb=_acknowledge)
        self._tasks = [asyncio.create_task(self._publish())]
        self._tasks += [
            asyncio.create_task(self._consume(stream, name))
            for stream, name, config in CONSUMERS
            if "deliver_subject" not in config
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = True
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    async def _publish(self) -> None:
        while not self._stopping:
            for subject in SUBJECTS:
                await self._client.request(subject, b"x" * 100, timeout=10)
            await asyncio.sleep(0.01)

    async def _consume(self, stream: str, name: str) -> None:
        consumer = await self._client.jetstream().pull_subscribe_bind(consumer=name, stream=stream)
        while not self._stopping:
            try:
                messages = await consumer.fetch(20, timeout=1)
            except nats.errors.TimeoutError:
                continue
            for message in messages:
                await message.ack()
