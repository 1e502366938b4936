"""Trying changes of fields on a real server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from nats.aio.client import Client
from nats.errors import Error

from tests.servers import Cluster
from tests.support.deployment import api
from tests.support.outage import with_client
from tools.field_changes import ON_A, ON_B, FieldChange
from tools.field_values import Json

ROOM = "max_memory_store: 1G\n  max_file_store: 1T"
"""Limits of bytes are reserved: so many streams want room that nothing is written to."""

BATCH = 500
_AT_ONCE = 50
CODES = "JSD614,JSD615,JSD418,JSD605"
"""The rules that judge such changes."""
AGED_S = 0.6
"""How old messages get before a change: older than the shortest max_age that deletes."""
_SETTLE_S = 2.5
"""Expiry has a timer of its own, which fires within two seconds."""


@dataclass(frozen=True)
class Verdict:
    """What becomes of a change: refused with a reason, or accepted with so many messages deleted."""

    refused: bool = False
    deleted: int = 0
    message: str = ""
    code: int = 0


def answers(cluster: Cluster, changes: Iterable[FieldChange]) -> Iterator[tuple[FieldChange, Verdict]]:
    """What the server does with each, in batches that a small machine holds."""
    run(cluster, origins)
    rest = iter(changes)
    while some := list(islice(rest, BATCH)):
        real = _outcomes_of_batch(cluster, some)
        yield from ((change, real[change.name]) for change in some)


def manifest(change: FieldChange, config: Json) -> Json:
    """The change as the `nats` command keeps streams and consumers in files."""
    return {"stream_name": change.name, "config": config} if change.of_consumer else config


def run(cluster: Cluster, work: Callable[[Client], Awaitable[object]]) -> None:
    """Some work with a connection of the account."""
    with_client(cluster, work)


async def origins(client: Client) -> None:
    """The streams that others mirror and source."""
    for name, largest in (("ORIGIN", -1), ("OTHER", -1), ("LARGE", 1024)):
        config = {"name": name, "subjects": [f"{name.lower()}.>"], "max_msg_size": largest}
        await api(client, f"STREAM.CREATE.{name}", config)


def _outcomes_of_batch(cluster: Cluster, changes: Sequence[FieldChange]) -> dict[str, Verdict]:
    wanted: dict[str, Json] = {}
    real: dict[str, Verdict] = {}

    async def prepare(client: Client) -> None:
        await _each(changes, lambda change: plant(client, change, wanted))
        await asyncio.sleep(AGED_S)

    run(cluster, prepare)

    async def apply(client: Client) -> None:
        planted = {change.name: await held(client, change) for change in changes if change.before is not None}
        await _each(changes, lambda change: _apply(client, change, wanted[change.name], real))
        await asyncio.sleep(_SETTLE_S)
        for change in changes:
            if not real[change.name].refused and planted.get(change.name):
                real[change.name] = await _counted(client, change, planted[change.name], wanted[change.name])
        await _each(changes, lambda change: _remove(client, change))

    run(cluster, apply)
    return real


async def _each(changes: Sequence[FieldChange], work: Callable[[FieldChange], Awaitable[object]]) -> None:
    room = asyncio.Semaphore(_AT_ONCE)

    async def limited(change: FieldChange) -> None:
        async with room:
            await work(change)

    await asyncio.gather(*(limited(change) for change in changes))


async def plant(client: Client, change: FieldChange, wanted: dict[str, Json]) -> None:
    """The stream with its consumers and messages as they are before; the manifest is what the server made of it, with
    one field changed.
    """
    name = change.name
    stream = change.stream if change.stream is not None else change.before
    stored: Json | None = None
    if stream is not None:
        stored = (await api(client, f"STREAM.CREATE.{name}", stream | {"sealed": False}))["config"]
        for consumer in change.others:
            await _add(client, name, consumer)
        if change.of_consumer and change.before is not None:
            stored = (await _add(client, name, change.before))["config"]
        if change.published:
            for number in range(ON_A + ON_B):
                subject = f"{name}.b" if number % 5 == 4 and number < 5 * ON_B else f"{name}.a"
                await client.publish(subject, b"x" * 64)
            await client.request(f"$JS.API.STREAM.INFO.{name}", b"", timeout=20)
        if stream.get("sealed"):
            stored = (await api(client, f"STREAM.UPDATE.{name}", stream))["config"]
    if change.before is None:
        wanted[name] = change.after
        return
    assert stored is not None
    wanted[name] = changed(stored, change)


def changed(stored: Json, change: FieldChange) -> Json:
    """A stored configuration with the one field changed."""
    rest = {field: value for field, value in stored.items() if field != change.field}
    return rest | ({change.field: change.after[change.field]} if change.field in change.after else {})


async def _add(client: Client, stream: str, config: Json) -> Json:
    subject = f"CONSUMER.DURABLE.CREATE.{stream}.{config['durable_name']}"
    return await api(client, subject, {"stream_name": stream, "config": config})


async def held(client: Client, change: FieldChange) -> dict[str, int]:
    """Messages by subject."""
    asked = json.dumps({"subjects_filter": ">"}).encode()
    reply = await client.request(f"$JS.API.STREAM.INFO.{change.name}", asked, timeout=20)
    state = json.loads(reply.data)["state"]
    subjects: dict[str, int] = state.get("subjects") or {}
    return subjects


async def _apply(client: Client, change: FieldChange, config: Json, real: dict[str, Verdict]) -> None:
    name = change.name
    if change.of_consumer:
        subject, body = f"CONSUMER.CREATE.{name}.{change.asset}", {"stream_name": name, "config": config}
    else:
        subject, body = f"STREAM.{'CREATE' if change.before is None else 'UPDATE'}.{change.asset}", config
    reply = await client.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout=20)
    error = json.loads(reply.data).get("error")
    real[name] = Verdict(refused=True, message=error["description"], code=error["err_code"]) if error else Verdict()


async def _counted(client: Client, change: FieldChange, planted: dict[str, int], config: Json) -> Verdict:
    """What is gone. Before 2.14 a new limit for each subject deletes with the next message of the subject."""
    if change.field == "max_msgs_per_subject":
        for subject in planted:
            with contextlib.suppress(Error):  # some streams do not acknowledge, some refuse
                await client.request(subject, b"x" * 64, timeout=0.5)
    left = await held(client, change)
    return Verdict(deleted=sum(max(0, count - left.get(subject, 0)) for subject, count in planted.items()))


async def _remove(client: Client, change: FieldChange) -> None:
    stream = change.name if change.of_consumer else change.asset
    await client.request(f"$JS.API.STREAM.DELETE.{stream}", b"", timeout=20)


def is_refusal(code: str, severity: str, message: str) -> bool:
    """Whether a failure foresees that the server takes no such change. JSD605 also has other errors."""
    return severity == "error" and (code in ("JSD614", "JSD418") or (code == "JSD605" and "server refuses" in message))
