"""What jsdoctor says of a change, and what real servers make of it: some of each kind.

What servers of every version reply to 36,682 changes is recorded and judged in `tests/checks/test_recorded_fields.py`.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.servers import VERSIONS, ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.outage import with_client
from tests.support.reports import Json, failures_of, run_check
from tests.support.site import SECOND_NS

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("manifests")]

HELD = 20
"""Messages in a stream before its change, on two subjects, 64 bytes each."""
REFUSED, ACCEPTED, DELETES = "refused", "accepted", "deletes"


class Change(NamedTuple):
    """A stream as it is (None: not there), as it shall be, and what a server makes of that."""

    about: str
    result: str
    before: Json | None
    after: Json
    consumer: Json | None = None
    """One that is there, on a stream of its own."""
    since: str = ""
    """Servers before this release accept the change and delete nothing."""


INTEREST: Json = {"retention": "interest"}
STREAMS = (
    Change("no limit", ACCEPTED, None, {}),
    Change("six replicas", REFUSED, None, {"num_replicas": 6}),
    Change("a window above max_age", REFUSED, None, {"max_age": 60 * SECOND_NS, "duplicate_window": 61 * SECOND_NS}),
    Change("a subject of another stream", REFUSED, None, {"subjects": ["taken.*"]}),
    Change("from file to memory", REFUSED, {"storage": "file"}, {"storage": "memory"}),
    Change("a limit of messages below what is there", DELETES, {}, {"max_msgs": 5}),
    Change("a limit of messages that just suffices", ACCEPTED, {"max_msgs": 1000}, {"max_msgs": HELD}),
    Change("a limit of bytes below what is there", DELETES, {}, {"max_bytes": 600}),
    Change("a limit below, discard new", ACCEPTED, {"discard": "new"}, {"discard": "new", "max_msgs": 5}),
    Change("a max_age below the age of all messages", DELETES, {}, {"max_age": SECOND_NS}),
    Change("a max_age above the age of all messages", ACCEPTED, {}, {"max_age": HOUR_NS}),
    Change("to interest, nobody interested", DELETES, {}, INTEREST, since="2.14"),
    Change("to interest, everything still to be delivered", ACCEPTED, {}, INTEREST, {}),
    Change("to interest, a consumer of new messages", DELETES, {}, INTEREST, {"deliver_policy": "new"}, "2.14"),
)


def declare(directory: Path, manifests: dict[str, Json]) -> tuple[str, ...]:
    directory.mkdir()
    for name, content in manifests.items():
        (directory / f"{name}.json").write_text(json.dumps(content))
    return ("--manifest", str(directory))


@pytest.mark.parametrize("version", VERSIONS)
def test_changes_of_streams(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster = cluster_factory(version, 1)
    changes = {f"C{number:02}": change for number, change in enumerate(STREAMS)}
    wanted = {n: {"name": n, "subjects": [f"{n}.>"], "storage": "file", **c.after} for n, c in changes.items()}
    with_client(cluster, lambda client: plant(client, changes))
    asked = (*declare(tmp_path / "deploy", wanted), "--select", "JSD614,JSD615")
    _, report = run_check("-s", cluster.url("app"), *asked)
    refused, deleting = failures_of(report, "JSD614"), failures_of(report, "JSD615")
    # The same of what was captured, with the login that sees every account.
    captured = jsdoctor("capture", "-o", "app.zip", "-s", cluster.url("sys"), "--samples", "1", cwd=tmp_path)
    assert captured.returncode == 0, captured.stderr
    _, report = run_check("--bundle", str(tmp_path / "app.zip"), *asked)
    assert (failures_of(report, "JSD614"), failures_of(report, "JSD615")) == (refused, deleting)
    predicted = {
        c.about: REFUSED if n in refused else DELETES if n in deleting else ACCEPTED for n, c in changes.items()
    }

    async def apply(client: Client) -> dict[str, str]:
        return {change.about: await result_of(client, change, wanted[name]) for name, change in changes.items()}

    expected = {c.about: c.result if version >= c.since else ACCEPTED for c in STREAMS}
    assert (with_client(cluster, apply), predicted) == (expected, expected)


async def plant(client: Client, changes: dict[str, Change]) -> None:
    await add_stream(client, "TAKEN", subjects=["taken.>"])
    for name, change in changes.items():
        if change.before is None:
            continue
        await add_stream(client, name, subjects=[f"{name}.>"], **{"storage": "file", **change.before})
        for number in range(HELD):
            await client.request(f"{name}.{'ab'[number % 2]}", b"x" * 64, timeout=5)
        if change.consumer is not None:
            await add_consumer(client, name, "reader", **change.consumer)
    await asyncio.sleep(1.1)  # older than the shortest max_age


async def result_of(client: Client, change: Change, config: Json) -> str:
    """What the server makes of the change. Expiry has a timer of its own, which fires within a second or two."""
    name = config["name"]
    before = await messages(client, name) if change.before is not None else 0
    reply = await request(client, f"STREAM.{'CREATE' if change.before is None else 'UPDATE'}.{name}", config)
    if "error" in reply:
        return REFUSED
    for _ in range(60 if change.result == DELETES else 1):
        if change.before is not None and await messages(client, name) < before:
            return DELETES
        await asyncio.sleep(0.05)
    return ACCEPTED


async def request(client: Client, subject: str, body: Json) -> Json:
    reply: Json = json.loads((await client.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout=10)).data)
    return reply


async def messages(client: Client, stream: str) -> int:
    info: Any = await api(client, f"STREAM.INFO.{stream}")
    return int(info["state"]["messages"])
