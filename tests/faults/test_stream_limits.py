"""Faults of streams that need several steps: expiry, replicas, lost origins."""

import asyncio
import json
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.clock import clock_shifter
from tests.remedy.fixing import fix
from tests.servers import VERSIONS, ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, add_stream, api
from tests.support.outage import with_client
from tests.support.reports import failures_of, run_check
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("stream-limits")]
SECOND_NS = 1_000_000_000


@pytest.mark.nightly  # it stops and resumes the server to shift its clock: a loaded machine can make that last
@pytest.mark.parametrize("version", VERSIONS)
def test_stuck_expiry_is_found(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """A message stored while the clock was an hour ahead keeps everything behind it; without it, expiry goes on."""
    shift = clock_shifter(tmp_path)
    cluster = cluster_factory(version, 1)
    pid = cluster.node("n1").pid

    async def publish(client: Client, count: int) -> None:
        for _ in range(count):
            await client.request("stuck", b"x", timeout=5)

    with_client(cluster, lambda c: add_stream(c, "STUCK", subjects=["stuck"], max_age=3 * SECOND_NS, max_bytes=1 << 22))
    shift(pid, 3600)
    with_client(cluster, lambda c: publish(c, 1))
    shift(pid, 0)
    with_client(cluster, lambda c: publish(c, 4))
    # The rule allows for five seconds of delay.
    with_client(cluster, lambda _: asyncio.sleep(9))
    _, report = run_check("--server", cluster.url("app"))
    assert failures_of(report, "JSD611") == {"APP/STUCK": "error"}

    def left() -> int:
        return int(with_client(cluster, lambda c: api(c, "STREAM.INFO.STUCK"))["state"]["messages"])

    assert left() == 5
    with_client(cluster, lambda c: api(c, "STREAM.MSG.DELETE.STUCK", {"seq": 1, "no_erase": True}))
    wait_until(lambda: left() == 0, "the others to expire", timeout=60)
    _, report = run_check("--server", cluster.url("app"))
    assert failures_of(report, "JSD611") == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_more_replicas_than_servers_are_found(cluster_factory: ClusterFactory, version: str) -> None:
    """Nothing refuses to remove a server for good, though the streams on it have nowhere else to go."""
    cluster = cluster_factory(version, 3)

    async def remove(client: Client) -> None:
        reply = await client.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": "n3"}).encode(), timeout=5)
        assert json.loads(reply.data)["success"], reply.data

    with_client(cluster, lambda c: add_stream(c, "WIDE", subjects=["wide"], num_replicas=3, max_bytes=1 << 22))
    _, report = run_check("--server", cluster.url("sys"), "--samples", "1")
    assert failures_of(report, "JSD605") == {}
    cluster.stop("n3")
    wait_until(lambda: cluster.meta_leader() in ("n1", "n2"), "a meta leader among the others", timeout=60)
    with_client(cluster, remove, user="sys")
    cluster.wait_ready()
    _, report = run_check("--server", cluster.url("sys"), "--samples", "1")
    assert failures_of(report, "JSD605") == {"APP/WIDE": "error"}


ONCE = ("--samples", "1", "--select", "JSD606")
BOUNDED: dict[str, Any] = {"max_bytes": 1 << 22}


async def _fill(client: Client, stream: str, count: int) -> None:
    await add_stream(client, stream, subjects=[f"{stream.lower()}.>"], **BOUNDED)
    for number in range(count):
        await client.request(f"{stream.lower()}.{number}", b"x", timeout=10)


async def _copies(client: Client) -> None:
    await _fill(client, "ORIGIN", 9)
    await _fill(client, "OTHER", 3)
    await add_stream(client, "MIRROR", mirror={"name": "ORIGIN"}, **BOUNDED)
    await add_stream(client, "TOTAL", sources=[{"name": "ORIGIN"}, {"name": "OTHER"}], **BOUNDED)
    for _ in range(100):
        states = [(await api(client, f"STREAM.INFO.{name}"))["state"] for name in ("MIRROR", "TOTAL")]
        if [state["messages"] for state in states] == [9, 12]:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("nothing was copied")


def _have_heard(origins: list[Any]) -> bool:
    """Whether every origin was active within the last five seconds."""
    return all(0 <= origin["active"] < 5_000_000_000 for origin in origins)


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_lost_origin_is_found_and_a_new_one_too(cluster_factory: ClusterFactory, version: str) -> None:
    """The server says what is wrong 20 seconds after the loss; of an origin made anew it never says anything."""
    cluster = cluster_factory(version, 1)
    with_client(cluster, _copies)
    code, report = run_check("--server", cluster.url("sys"))
    assert (code, failures_of(report, "JSD607")) == (0, {})
    with_client(cluster, lambda client: api(client, "STREAM.DELETE.ORIGIN"))

    def origins() -> list[Any]:
        infos = [with_client(cluster, lambda c, n=n: api(c, f"STREAM.INFO.{n}")) for n in ("MIRROR", "TOTAL")]  # type: ignore[misc]
        return [o for info in infos for o in (info.get("mirror"), *(info.get("sources") or [])) if o]

    def complaints() -> list[Any]:
        return [origin["error"] for origin in origins() if origin.get("error")]

    wait_until(lambda: len(complaints()) == 2, "both copies to say what is wrong", timeout=60, interval=0.5)
    for user in ("sys", "app"):
        code, report = run_check("--server", cluster.url(user))
        assert failures_of(report, "JSD607") == {"APP/MIRROR": "error", "APP/TOTAL": "error"}
        assert code == 1
    with_client(cluster, lambda client: _fill(client, "ORIGIN", 2))
    wait_until(lambda: not complaints(), "both copies to find their origin again", timeout=60, interval=0.5)
    # A server that has been slow to make its new consumer has been silent for longer than JSD607 takes for information.
    wait_until(lambda: _have_heard(origins()), "both copies to hear from their origins", timeout=60, interval=0.5)
    _, report = run_check("--server", cluster.url("sys"))
    # That the other copy has not asked its new origin for some seconds may be information.
    loud = [r for r in report["results"] if r["code"] == "JSD607" and r["severity"] != "info"]
    messages = {r["subject"]["name"]: r["message"] for r in loud}
    # The mirror is past the new origin, or (before 2.14) takes its messages under numbers that it has used before.
    assert set(messages) == {"MIRROR"}
    assert ("mixed" if version < "2.14" else "past its origin") in messages["MIRROR"]


@pytest.mark.parametrize("version", VERSIONS)
def test_many_subjects_are_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 1)
    with_client(cluster, lambda client: _fill(client, "WIDE", 300))
    with_client(cluster, lambda client: _fill(client, "NARROW", 299))
    _, report = run_check("--server", cluster.url("app"), "--set", "JSD606.warn_subjects=300", *ONCE)
    assert failures_of(report, "JSD606") == {"APP/WIDE": "warning"}
    with_client(cluster, lambda client: api(client, "STREAM.PURGE.WIDE", {"filter": "wide.7"}))
    _, report = run_check("--server", cluster.url("app"), "--set", "JSD606.warn_subjects=300", *ONCE)
    assert failures_of(report, "JSD606") == {}
    assert failures_of(run_check("--server", cluster.url("app"), *ONCE)[1], "JSD606") == {}


CONFIG: dict[str, Any] = {"name": "ORDERS", "subjects": ["orders"], "max_age": HOUR_NS, "max_bytes": 1 << 20}
BEFORE_2_14 = ["2.10.26", "2.12.8"]


async def three_replicas(client: Client) -> None:
    await add_stream(client, CONFIG["name"], subjects=CONFIG["subjects"], max_age=HOUR_NS, max_bytes=1 << 20)
    await store(client, "orders")
    await api(client, "STREAM.UPDATE.ORDERS", {**CONFIG, "num_replicas": 3})


async def on(url: str, apply: bool) -> int:
    """Messages in the stream after an update, or now. Raises where there is no such stream."""
    client = await nats.connect(url)
    try:
        if apply:
            await three_replicas(client)
        return int((await api(client, "STREAM.INFO.ORDERS"))["state"]["messages"])
    finally:
        await client.close()


@pytest.mark.parametrize("mended", [True, False])
@pytest.mark.parametrize("version", BEFORE_2_14)
def test_it_is_found_and_fixed_before_the_restart(
    version: str, mended: bool, cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    cluster = cluster_factory(version, 1)
    url = cluster.url("app")
    assert asyncio.run(on(url, apply=True)) == 1
    done = jsdoctor("check", "-s", url, "--select", "JSD605", cwd=tmp_path)
    assert (done.returncode, "does not recover the stream" in " ".join(done.stdout.split())) == (1, True)
    if mended:
        fixed = fix(tmp_path, url, "--select", "JSD605")
        assert fixed["exit"] == 0, fixed
        assert jsdoctor("check", "-s", url, "--select", "JSD605", cwd=tmp_path).returncode == 0
    cluster.stop("n1")
    cluster.start("n1", wait=mended)  # without its stream it is never healthy
    if mended:
        assert asyncio.run(on(url, apply=False)) == 1
    else:
        wait_until(lambda: "Error recreating stream" in cluster.node("n1").log_path.read_text(), "the server names it")
        assert "JSD804" in jsdoctor("check", "--logs", str(cluster.node("n1").log_path), cwd=tmp_path).stdout
