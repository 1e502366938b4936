"""Trying changes of fields on a real server, and what jsdoctor says of them before."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nats.aio.client import Client
from nats.errors import Error

from tests.real.field_changes import ON_A, ON_B, FieldChange
from tests.real.field_values import Json
from tests.real.outage import with_client
from tests.servers import Cluster
from tests.support.deployment import api

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
    """What becomes of a change: refused with a reason, or accepted with so many messages deleted.

    `exact`: whether the number is known; `decided`: whether anything could be said.
    """

    refused: bool = False
    deleted: int = 0
    exact: bool = True
    decided: bool = True
    message: str = ""
    code: int = 0


@dataclass(frozen=True)
class Trial:
    """One change, what jsdoctor said, and what the server did."""

    change: FieldChange
    predicted: Verdict
    real: Verdict

    @property
    def right(self) -> bool:
        """Whether a gate would have decided as the server did: a number that is no estimate must be the real one."""
        if not self.predicted.decided or self.predicted.refused != self.real.refused:
            return False
        if self.predicted.exact:
            return self.predicted.deleted == self.real.deleted
        return (self.predicted.deleted > 0) == (self.real.deleted > 0)

    def __str__(self) -> str:
        kind = "consumer" if self.change.of_consumer else "stream"
        return f"{kind} {self.change.about}: said {_words(self.predicted)}; the server: {_words(self.real)}"


def _words(verdict: Verdict) -> str:
    if not verdict.decided:
        return f"undecided ({verdict.message})"
    if verdict.refused:
        return f"refused ({verdict.code} {verdict.message})"
    about = "" if verdict.exact else "about "
    return f"accepted, {about}{verdict.deleted} deleted" + (f" ({verdict.message})" if verdict.message else "")


def trials(cluster: Cluster, changes: Iterable[FieldChange], directory: Path, batch: int = BATCH) -> Iterator[Trial]:
    """Try them all, in batches that a small machine holds."""
    predicted: dict[str, Verdict] = {}

    def gate(changes: Sequence[FieldChange], wanted: Mapping[str, Json]) -> None:
        manifests = directory / f"changes-{changes[0].name}"
        manifests.mkdir()
        for change in changes:  # a file for each: streams of one file are held against each other
            (manifests / f"{change.name}.json").write_text(json.dumps(manifest(change, wanted[change.name])))
        predicted.update(_predicted(cluster, manifests, changes))

    for change, real in answers(cluster, changes, gate, batch):
        yield Trial(change, predicted[change.name], real)


def answers(
    cluster: Cluster,
    changes: Iterable[FieldChange],
    before_applied: Callable[[Sequence[FieldChange], Mapping[str, Json]], None],
    batch: int = BATCH,
) -> Iterator[tuple[FieldChange, Verdict]]:
    """What the server does with each. `before_applied` receives a batch that is planted, with the manifests by name."""
    run(cluster, origins)
    rest = iter(changes)
    while some := list(islice(rest, batch)):
        real = _outcomes_of_batch(cluster, some, before_applied)
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


def _outcomes_of_batch(
    cluster: Cluster,
    changes: Sequence[FieldChange],
    before_applied: Callable[[Sequence[FieldChange], Mapping[str, Json]], None],
) -> dict[str, Verdict]:
    wanted: dict[str, Json] = {}
    real: dict[str, Verdict] = {}

    async def prepare(client: Client) -> None:
        await _each(changes, lambda change: plant(client, change, wanted))
        await asyncio.sleep(AGED_S)

    run(cluster, prepare)
    before_applied(changes, wanted)

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


def _predicted(cluster: Cluster, manifests: Path, changes: Sequence[FieldChange]) -> dict[str, Verdict]:
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--format", "json", "--samples", "1"]
    command += ["-s", cluster.url("app"), "--manifest", str(manifests), "--select", CODES, "--all-findings"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr + done.stdout[-2000:]
    predicted = {change.name: Verdict() for change in changes}
    names = {change.asset: change.name for change in changes if not change.of_consumer}
    for result in json.loads(done.stdout)["results"]:
        subject = result["subject"]
        name = names.get(subject["name"], subject["stream"])
        if name in predicted and not predicted[name].refused:
            predicted[name] = _read(result, predicted[name])
    return predicted


def is_refusal(code: str, severity: str, message: str) -> bool:
    """Whether a failure foresees that the server takes no such change. JSD605 also has other errors."""
    return severity == "error" and (code in ("JSD614", "JSD418") or (code == "JSD605" and "server refuses" in message))


def _read(result: Json, before: Verdict) -> Verdict:
    message = result["message"]
    if result["outcome"] == "not_evaluated":
        return before if before.deleted else Verdict(decided=False, message=message)
    if result["outcome"] != "fail":
        return before
    if result["code"] != "JSD615":
        refused = is_refusal(result["code"], result["severity"], message)
        return Verdict(refused=True, message=message) if refused else before
    exact = result["measured"] is not None and result["confidence"] == "high"
    return Verdict(deleted=result["measured"] or 1, exact=exact, message=message)
