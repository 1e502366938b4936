"""Mirrors whose origin goes away or is made anew, and streams with many subjects, on real servers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nats.aio.client import Client

from tests.real.outage import check, failures_of, with_client
from tests.servers import VERSIONS, ClusterFactory, wait_until
from tests.support.deployment import add_stream, api

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("stream-origins")]

*OLDER, NEWEST = VERSIONS
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


@pytest.mark.parametrize("version", [NEWEST, *(pytest.param(version, marks=pytest.mark.nightly) for version in OLDER)])
def test_lost_origin_is_found_and_a_new_one_too(cluster_factory: ClusterFactory, version: str) -> None:
    """The server says what is wrong 20 seconds after the loss; of an origin made anew it never says anything."""
    cluster = cluster_factory(version, 1)
    with_client(cluster, _copies)
    code, report = check("--server", cluster.url("sys"))
    assert (code, failures_of(report, "JSD607")) == (0, {})
    with_client(cluster, lambda client: api(client, "STREAM.DELETE.ORIGIN"))

    def origins() -> list[Any]:
        infos = [with_client(cluster, lambda c, n=n: api(c, f"STREAM.INFO.{n}")) for n in ("MIRROR", "TOTAL")]  # type: ignore[misc]
        return [o for info in infos for o in (info.get("mirror"), *(info.get("sources") or [])) if o]

    def complaints() -> list[Any]:
        return [origin["error"] for origin in origins() if origin.get("error")]

    wait_until(lambda: len(complaints()) == 2, "both copies to say what is wrong", timeout=60, interval=0.5)
    for user in ("sys", "app"):
        code, report = check("--server", cluster.url(user))
        assert failures_of(report, "JSD607") == {"APP/MIRROR": "error", "APP/TOTAL": "error"}
        assert code == 1
    with_client(cluster, lambda client: _fill(client, "ORIGIN", 2))
    wait_until(lambda: not complaints(), "both copies to find their origin again", timeout=60, interval=0.5)
    # A server that has been slow to make its new consumer has been silent for longer than JSD607 takes for information.
    wait_until(lambda: _have_heard(origins()), "both copies to hear from their origins", timeout=60, interval=0.5)
    _, report = check("--server", cluster.url("sys"))
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
    _, report = check("--server", cluster.url("app"), "--set", "JSD606.warn_subjects=300", *ONCE)
    assert failures_of(report, "JSD606") == {"APP/WIDE": "warning"}
    with_client(cluster, lambda client: api(client, "STREAM.PURGE.WIDE", {"filter": "wide.7"}))
    _, report = check("--server", cluster.url("app"), "--set", "JSD606.warn_subjects=300", *ONCE)
    assert failures_of(report, "JSD606") == {}
    assert failures_of(check("--server", cluster.url("app"), *ONCE)[1], "JSD606") == {}
