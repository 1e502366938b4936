"""What jsdoctor says of a change, and what real servers say of it: both must be the same."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsdoctor.collect.scan.message_recorder import date_ns
from tests.cli.invoke import jsdoctor
from tests.real.manifest_changes import HELD, Change, Json, UpdateResult, consumer_changes, stream_changes
from tests.real.outage import check, failures_of, with_client
from tests.servers import DEFAULT_VERSION, VERSIONS, ClusterFactory
from tests.support.deployment import add_stream, api

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("manifests")]

REFUSED, ACCEPTED, DELETES = UpdateResult.REFUSED, UpdateResult.ACCEPTED, UpdateResult.DELETES
EACH_VERSION = [
    pytest.param(version, marks=[] if version == DEFAULT_VERSION else [pytest.mark.nightly]) for version in VERSIONS
]


@pytest.mark.parametrize("version", EACH_VERSION)
def test_changes_of_streams(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster, changes = cluster_factory(version, 1), list(stream_changes())
    with_client(cluster, lambda client: prepare_streams(client, changes))
    (tmp_path / "deploy").mkdir()
    for change in changes:
        (tmp_path / "deploy" / f"{change.name}.json").write_text(json.dumps(change.after, indent=1))
    asked = ("--manifest", str(tmp_path / "deploy"), "--select", "JSD614,JSD615")
    _, report = check("-s", cluster.url("app"), *asked)
    refused, deleting = failures_of(report, "JSD614"), failures_of(report, "JSD615")
    # The same of what was captured, with the login that sees every account.
    captured = jsdoctor("capture", "-o", "app.zip", "-s", cluster.url("sys"), "--samples", "1", cwd=tmp_path)
    assert captured.returncode == 0, captured.stderr
    _, report = check("--bundle", str(tmp_path / "app.zip"), *asked)
    assert (failures_of(report, "JSD614"), failures_of(report, "JSD615")) == (refused, deleting)
    predicted = {c.name: REFUSED if c.name in refused else DELETES if c.name in deleting else ACCEPTED for c in changes}

    async def apply(client: Client) -> dict[str, UpdateResult]:
        return {change.name: await result_of(client, change, version) for change in changes}

    results = with_client(cluster, apply)
    expected = {change.about: change.result_on(version) for change in changes}
    assert {change.about: results[change.name] for change in changes} == expected
    assert {change.about: predicted[change.name] for change in changes} == expected


async def prepare_streams(client: Client, changes: list[Change]) -> None:
    await add_stream(client, "TAKEN", subjects=["taken.>"])
    for change in changes:
        if change.before is None:
            continue
        await api(client, f"STREAM.CREATE.{change.name}", change.before | {"sealed": False})
        late = [consumer for consumer in change.consumers if consumer.get("deliver_policy") == "new"]
        for consumer in change.consumers:
            if consumer not in late:
                await create(client, change.name, consumer["durable_name"], consumer)
        for number in range(HELD):
            await client.request(f"{change.name}.{'ab'[number % 2]}", b"x" * 64, timeout=5)
        for consumer in late:
            await create(client, change.name, consumer["durable_name"], consumer)
        if change.before.get("sealed"):
            await api(client, f"STREAM.UPDATE.{change.name}", change.before)
    for change in changes:
        await outlive(client, change)


async def outlive(client: Client, change: Change) -> None:
    """Wait until the last message of the stream is older than the change allows, where it is to delete them all."""
    while change.result is DELETES and "max_age" in change.after:
        info = await api(client, f"STREAM.INFO.{change.name}")
        if date_ns(info["ts"]) - date_ns(info["state"]["last_ts"]) > change.after["max_age"]:
            return
        await asyncio.sleep(0.1)


async def result_of(client: Client, change: Change, version: str) -> UpdateResult:
    """What the server makes of the change."""
    before = await messages(client, change.name) if change.before else 0
    verb = "CREATE" if change.before is None else "UPDATE"
    answer = await request(client, f"STREAM.{verb}.{change.name}", change.after)
    if "error" in answer:
        return REFUSED
    if change.result_on(version) is DELETES:
        for subject in "ab" if change.nudge else "":
            await client.request(f"{change.name}.{subject}", b"x", timeout=5)
        return await fewer(client, change.name, before)
    assert change.before is None or await messages(client, change.name) == before, change.about
    return ACCEPTED


@pytest.mark.parametrize("version", EACH_VERSION)
def test_changes_of_consumers(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster, changes = cluster_factory(version, 1), list(consumer_changes())

    async def prepare(client: Client) -> None:
        for change in changes:
            await api(client, f"STREAM.CREATE.{change.name}", change.stream)
            there = {"reader": change.before} if change.before is not None else {}
            for name, config in {**change.others, **there}.items():
                await create(client, change.name, name, config)

    with_client(cluster, prepare)
    for change in changes:
        manifest = {"stream_name": change.name, "config": change.after}
        (tmp_path / f"{change.name}.json").write_text(json.dumps(manifest))
    _, report = check("-s", cluster.url("app"), "--manifest", str(tmp_path), "--select", "JSD418")
    refused = failures_of(report, "JSD418")

    async def apply(client: Client) -> dict[str, Json]:
        return {
            change.name: await request(
                client,
                f"CONSUMER.DURABLE.CREATE.{change.name}.reader",
                {"stream_name": change.name, "config": change.after},
            )
            for change in changes
        }

    answers = with_client(cluster, apply)
    results = {c.about: UpdateResult.REFUSED if "error" in answers[c.name] else UpdateResult.ACCEPTED for c in changes}
    predicted = {
        c.about: UpdateResult.REFUSED if f"{c.name}/reader" in refused else UpdateResult.ACCEPTED for c in changes
    }
    assert results == {change.about: change.result for change in changes}
    assert predicted == results
    codes = [
        (c.about, answers[c.name]["error"]["err_code"], _message(report, c.name))
        for c in changes
        if c.result == "refused"
    ]
    assert [
        (about, code) for about, code, message in codes if "(error" in message and f"(error {code})" not in message
    ] == []


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_replicas_that_nobody_can_hold(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """A single server refuses more than one, a cluster more than it has servers."""
    for nodes, held, refused in ((1, 1, 3), (3, 3, 5)):
        cluster = cluster_factory(version, nodes)
        for replicas in (held, refused):
            config = {"name": f"R{replicas}", "subjects": [f"r{replicas}"], "num_replicas": replicas, "max_msgs": 5}
            (tmp_path / f"R{replicas}.json").write_text(json.dumps(config))
            _, report = check("-s", cluster.url("sys"), "--manifest", str(tmp_path / f"R{replicas}.json"))
            answer = with_client(
                cluster,
                lambda c, config=config: request(c, f"STREAM.CREATE.{config['name']}", config),  # type: ignore[misc]
            )
            assert (failures_of(report, "JSD605").get(f"R{replicas}") == "error") == ("error" in answer), (
                nodes,
                replicas,
            )
            assert ("error" in answer) == (replicas == refused)


async def create(client: Client, stream: str, name: str, config: Json) -> None:
    await api(client, f"CONSUMER.DURABLE.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})


async def request(client: Client, subject: str, body: Json) -> Json:
    reply = await client.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout=10)
    answer: Json = json.loads(reply.data)
    return answer


async def messages(client: Client, stream: str) -> int:
    info: Any = await api(client, f"STREAM.INFO.{stream}")
    return int(info["state"]["messages"])


async def fewer(client: Client, stream: str, before: int) -> UpdateResult:
    """Expiry has a timer of its own, which fires within a second or two."""
    for _ in range(200):
        if await messages(client, stream) < before:
            return UpdateResult.DELETES
        await asyncio.sleep(0.05)
    return UpdateResult.ACCEPTED


def _message(report: Json, stream: str) -> str:
    messages = [
        r["message"] for r in report["results"] if r["subject"].get("stream") == stream and r["outcome"] == "fail"
    ]
    return " ".join(messages)
