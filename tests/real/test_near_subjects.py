"""JSD429 and JSD633 on real servers: what only the subjects of a stream show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.collect.looking import NIGHTLY_UNLESS_DEFAULT
from tests.real.contexts import contexts
from tests.real.outage import with_client
from tests.real.ward import Json, failures, run_check
from tests.servers import ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api

pytestmark = pytest.mark.real


def subjects_requested(report: Json) -> list[str]:
    return [r["outcome"] for r in report["results"] if r["code"] == "JSD429" and r["outcome"] == "not_evaluated"]


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_a_filter_with_a_typing_error(shared_cluster: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster = shared_cluster(version, 1)

    async def plant(client: Client) -> None:
        await add_stream(client, "P429", subjects=["p429.>"], max_age=HOUR_NS, max_bytes=8 << 20)
        await add_consumer(client, "P429", "typo", filter_subject="p429.shiped")
        await add_consumer(client, "P429", "quiet", filter_subject="p429.cancelled")
        await add_consumer(client, "P429", "one-of-two", filter_subjects=["p429.paid", "p429.shiped"])
        await client.request("p429.paid", b"x", timeout=10)
        for _ in range(20):
            await client.request("p429.shipped", b"x", timeout=10)

    with_client(cluster, plant)
    words = ("--select=JSD429,JSD416", "--samples=1")
    trend = "--select=JSD429,JSD416,JSD402"  # takes two samples; the second does not list consumers at rest again
    for selected in (words, (trend,)):
        _, report = run_check("--server", cluster.url("app"), *selected)
        assert failures(report, "APP/P429/typo") == {"JSD429": "warning"}, selected
        assert failures(report, "APP/P429/one-of-two") == {"JSD429": "warning"}, selected
        assert failures(report, "APP/P429/quiet") == {}
        assert not subjects_requested(report)
    _, system = run_check("--server", cluster.url("sys"), *words)
    assert failures(system, "APP/P429/typo") == {}
    assert subjects_requested(system), "a login that cannot ask for subjects must not call the filter right"

    with contexts(cluster, "sys", "app", at=tmp_path) as both:
        _, joined = run_check(*both, *words)
        capture = [sys.executable, "-m", "jsdoctor", "capture", *both, "--samples=1", "-o", str(tmp_path / "both.zip")]
        subprocess.run(capture, check=True, capture_output=True, timeout=120)
    _, captured = run_check("--bundle", str(tmp_path / "both.zip"), "--select=JSD429,JSD416")
    for report in (joined, captured):
        assert failures(report, "APP/P429/typo") == {"JSD429": "warning"}
        assert not subjects_requested(report)
        assert not [gap for gap in report["gaps"] if gap["requested"]]

    async def fix(client: Client) -> None:
        await api(client, "CONSUMER.DELETE.P429.typo")
        await add_consumer(client, "P429", "typo", filter_subject="p429.shipped")

    with_client(cluster, fix)
    _, fixed = run_check("--server", cluster.url("app"), *words)
    assert failures(fixed, "APP/P429/typo") == {}


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_uploads_that_were_cut_off(shared_cluster: ClusterFactory, version: str) -> None:
    """Two uploads of three and four chunks without an object, beside an object that was replaced."""
    cluster = shared_cluster(version, 1)
    subjects = {"subjects": ["$O.p633.C.>", "$O.p633.M.>"], "allow_rollup_hdrs": True, "allow_direct": True}

    async def plant(client: Client) -> None:
        await add_stream(client, "OBJ_p633", max_age=HOUR_NS, max_bytes=8 << 20, **subjects)
        bucket = await client.jetstream().object_store("p633")
        for _ in range(2):
            await bucket.put("replaced", b"x" * 300_000)

    async def cut_off(client: Client) -> None:
        for upload, chunks in (("first", 3), ("second", 4)):
            for _ in range(chunks):
                await client.request(f"$O.p633.C.{upload}", b"x" * 100_000, timeout=10)

    words = ("--select=JSD633", "--samples=1")
    with_client(cluster, plant)
    _, healthy = run_check("--server", cluster.url("app"), *words, "--set=JSD633.settle=0s")
    assert outcomes(healthy) == []
    with_client(cluster, cut_off)
    _, report = run_check("--server", cluster.url("app"), *words, "--set=JSD633.settle=0s")
    assert failures(report, "APP/OBJ_p633") == {"JSD633": "info"}
    message = next(r["message"] for r in report["results"] if r["code"] == "JSD633")
    assert message.startswith("2 uploads at least with ")
    assert "3 uploads and 1 object" in message
    _, early = run_check("--server", cluster.url("app"), *words)
    assert outcomes(early) == ["not_evaluated"], "the uploads may be under way"

    async def purge(client: Client) -> None:
        for upload in ("first", "second"):
            await api(client, "STREAM.PURGE.OBJ_p633", {"filter": f"$O.p633.C.{upload}"})

    with_client(cluster, purge)
    _, fixed = run_check("--server", cluster.url("app"), *words, "--set=JSD633.settle=0s")
    assert outcomes(fixed) == []


def outcomes(report: Json) -> list[str]:
    """Of JSD633, for the stream of the test; those that passed are not listed one by one."""
    return [
        result["outcome"]
        for result in report["results"]
        if result["code"] == "JSD633" and result["subject"].get("name") == "OBJ_p633"
    ]
