"""A Terraform plan that replaces a stream beside the limits of its account or server: jsdoctor's verdict and theirs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import nats
import pytest

from jsdoctor.demo.server import NatsServer
from tests.real.outage import Json, check, failures_of
from tests.servers import DEFAULT_VERSION, VERSIONS, server_binary
from tests.support.deployment import add_stream

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("manifests")]

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


@pytest.mark.parametrize(
    "version",
    [pytest.param(v, marks=[] if v == DEFAULT_VERSION else [pytest.mark.nightly]) for v in VERSIONS],
)
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
        _, report = await asyncio.to_thread(check, *arguments)
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
