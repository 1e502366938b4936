"""Limits of an account and of a server: a gate refuses exactly what real servers have no room for."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from jsdoctor.demo.server import NatsServer
from tests.servers import VERSIONS, ClusterFactory, server_binary
from tests.support.deployment import add_stream, api
from tests.support.outage import with_client
from tests.support.reports import Json, failures_of, run_check

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("manifests")]


MB = 1 << 20
OF_ACCOUNT = (
    "jetstream: {max_file: 10MB, max_mem: 5MB, max_streams: 4, max_consumers: 20, max_bytes_required: true,"
    " disk_max_stream_bytes: 4MB, memory_max_stream_bytes: 3MB}"
)
OF_SERVER = "max_file_store: 20MB\n  max_memory_store: 8MB"

_SIZES = (
    -1,
    0,
    1,
    MB,
    2 * MB,
    2 * MB + 1,
    3 * MB,
    3 * MB + 1,
    4 * MB,
    4 * MB + 1,
    8 * MB,
    12 * MB,
    16 * MB,
    17 * MB,
    30 * MB,
)


_CHANGED = (MB, 4 * MB, 4 * MB + 1, 5 * MB, 17 * MB)


def changes() -> Iterator[Json]:
    """New streams, and the deployed ones with other limits."""
    for storage in ("file", "memory"):
        for size in _SIZES:
            for consumers in (-1, 20, 21):
                name = f"NEW_{storage}_{size}_{consumers}".replace("-", "m")
                yield {"name": name, "storage": storage, "max_bytes": size, "max_consumers": consumers}
    for size in _CHANGED:
        for name, config in HELD.items():
            yield {**config, "name": name, "max_bytes": size}


HELD: dict[str, Json] = {
    "FILES": {"storage": "file", "max_bytes": 4 * MB},
    "MORE": {"storage": "file", "max_bytes": 3 * MB},
    "QUICK": {"storage": "memory", "max_bytes": 2 * MB},
}


async def plant(client: Client) -> None:
    for name, config in HELD.items():
        await api(client, f"STREAM.CREATE.{name}", {"name": name, "subjects": [f"{name}.>"], **config})


async def tried(client: Client, wanted: Json) -> int:
    """The server's error code, 0 if it takes it; afterwards everything is as before."""
    name = wanted["name"]
    verb = "UPDATE" if name in HELD else "CREATE"
    reply = await client.request(f"$JS.API.STREAM.{verb}.{name}", json.dumps(wanted).encode(), timeout=10)
    error = json.loads(reply.data).get("error")
    if not error and verb == "CREATE":
        await api(client, f"STREAM.DELETE.{name}")
    elif not error:
        await api(client, f"STREAM.UPDATE.{name}", {"name": name, "subjects": [f"{name}.>"], **HELD[name]})
    return int(error["err_code"]) if error else 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("limits", "login"), [("account", "app"), ("server", "sys"), pytest.param("full", "app", marks=pytest.mark.nightly)]
)
def test_what_has_room(cluster_factory: ClusterFactory, tmp_path: Path, version: str, limits: str, login: str) -> None:
    of_account = "" if limits == "server" else OF_ACCOUNT
    if limits == "full":
        of_account = of_account.replace("max_streams: 4", "max_streams: 3")
    cluster = cluster_factory(version, 1, jetstream=OF_SERVER, app_account=of_account)
    with_client(cluster, plant)
    wanted = [{**new, "subjects": [f"{new['name']}.>"]} for new in changes()]
    predicted: dict[str, str] = {}
    for number, batch in enumerate(_batches(wanted)):
        place = tmp_path / f"deploy-{number}"
        place.mkdir()
        for change in batch:
            (place / f"{change['name']}.json").write_text(json.dumps(change))
        _, report = run_check(
            "-s", cluster.url(login), "--manifest", str(place), "--select", "JSD614", "--samples", "1"
        )
        messages = {r["subject"]["name"]: r["message"] for r in report["results"] if r["outcome"] == "fail"}
        assert not [r for r in report["results"] if r["outcome"] == "not_evaluated"]
        predicted |= {_label(tried_change): messages.get(tried_change["name"], "") for tried_change in batch}

    async def apply(client: Client) -> dict[str, int]:
        return {_label(wanted_change): await tried(client, wanted_change) for wanted_change in wanted}

    real = with_client(cluster, apply)
    wrong = [
        f"{label}: server {code}, said {predicted[label]!r}"
        for label, code in real.items()
        if (f"(error {code})" not in predicted[label] if code else predicted[label])
    ]
    assert len(real) == len(wanted)
    assert {code for code in real.values() if code}, "limits refuse something"
    assert wrong == []


def _batches(wanted: list[Json]) -> list[list[Json]]:
    """All new streams; then the changes of deployed ones, one of each at a time."""
    changed = [
        [change for change in wanted if change["name"] in HELD and change["max_bytes"] == size] for size in _CHANGED
    ]
    return [[change for change in wanted if change["name"] not in HELD], *changed]


def _label(change: Json) -> str:
    return f"{change['name']} max_bytes {change['max_bytes']} max_consumers {change.get('max_consumers')}"


LIMITED = "max_file: 1000000, max_mem: 500000, max_streams: 2"
ROOM = {
    "account": ("max_memory_store: 64M, max_file_store: 1G", LIMITED),
    "server": ("max_memory_store: 500000, max_file_store: 1000000", ""),
}
"""What the server has, and what the account may have of it: in both A and B together reserve 900,000 bytes."""
REPLACEMENTS: tuple[tuple[Json, bool], ...] = (
    ({"storage": "file", "max_bytes": 700_000}, True),
    ({"storage": "file", "max_bytes": 700_001}, False),
    ({"storage": "memory", "max_bytes": 500_000}, True),
    ({"storage": "memory", "max_bytes": 500_001}, False),
    ({"storage": "file", "max_bytes": 100}, True),
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("what", ROOM)
def test_a_stream_that_is_replaced_has_the_room_of_the_old_one(tmp_path: Path, version: str, what: str) -> None:
    own, of_account = ROOM[what]
    config = (
        f"server_name: n1\njetstream {{ store_dir: store, {own} }}\nsystem_account: SYS\naccounts {{\n"
        "  SYS: { users: [{ user: sys, password: sys }] }\n"
        f"  APP: {{ users: [{{ user: app, password: app }}], jetstream: {{ {of_account} }} }}\n}}\n"
    )
    if not of_account:
        config = config.replace("jetstream: {  }", "jetstream: enabled")
    with NatsServer.start(server_binary(version), config, tmp_path / "n1") as server:
        for settings, fits in REPLACEMENTS:
            accepted, passes = asyncio.run(_replace(server.url, tmp_path, settings))
            assert (accepted, passes) == (fits, fits), settings


async def _replace(url: str, directory: Path, settings: Json) -> tuple[bool, bool]:
    """Whether the server takes the new stream once the old one is deleted, and whether jsdoctor expects it to."""
    client = await nats.connect(url, user="app", password="app")
    try:
        for name, most in (("A", 600_000), ("B", 300_000)):
            await client.request(f"$JS.API.STREAM.DELETE.{name}", b"", timeout=5)
            await add_stream(client, name, subjects=[name.lower()], max_bytes=most)
        planned = directory / "plan.json"
        planned.write_text(_plan({"name": "A", "subjects": ["a"], "retention": "limits"} | settings))
        login = url.replace("nats://", "nats://sys:sys@")
        arguments = ("--server", login, "--manifest", str(planned), "--select", "JSD614")
        _, report = await asyncio.to_thread(run_check, *arguments)
        await client.request("$JS.API.STREAM.DELETE.A", b"", timeout=5)
        body = json.dumps({"name": "A", "subjects": ["a"]} | settings).encode()
        reply = json.loads((await client.request("$JS.API.STREAM.CREATE.A", body, timeout=5)).data)
        return "error" not in reply, not failures_of(report, "JSD614")
    finally:
        await client.close()


def _plan(after: Json) -> str:
    change = {"actions": ["delete", "create"], "before": {"name": "A"}, "after": after, "after_unknown": {"id": True}}
    resource = {"address": "jetstream_stream.A", "mode": "managed", "type": "jetstream_stream", "name": "A"}
    return json.dumps({"format_version": "1.2", "resource_changes": [resource | {"change": change}]})
