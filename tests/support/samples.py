"""Faults that show only between two samples: take one, do it, take another, judge both together."""

import asyncio
from typing import Any

from nats.aio.client import Client

from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.replies.assemble import assemble
from tests.servers import Cluster, wait_until
from tests.sources.looking import ONCE, take_samples
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.outage import with_client
from tests.support.ruleset import run_rule
from tests.support.stored import store

Samples = tuple[Sample, ...]
NAME = "P20"
"""The stream of these tests, in account APP."""


def once(cluster: Cluster, user: str = "sys") -> Samples:
    """One sample, as `jsdoctor check` takes it."""
    return take_samples(cluster.url(user), plan=ONCE)


def severities(code: str, samples: Samples, params: dict[str, Any] | None = None) -> dict[str, str]:
    """Severity of each failure of a rule on those samples, by its subject's label with slashes."""
    return {
        result.finding.subject.label.replace(" > ", "/"): result.severity.value
        for result in run_rule(code, assemble(samples), params).results
        if result.finding.outcome is Outcome.FAIL
    }


def made(cluster: Cluster) -> None:
    """A stream on all servers with a durable consumer."""

    async def create(client: Client) -> None:
        bounds = {"max_age": HOUR_NS, "max_bytes": 1 << 20}
        await add_stream(client, NAME, subjects=["p20"], num_replicas=len(cluster.names), **bounds)
        await add_consumer(client, NAME, "worker")

    with_client(cluster, create)


def publish(cluster: Cluster, count: int) -> None:
    """So many acknowledged messages, and wait until the stream shows them."""

    async def send(client: Client) -> None:
        before = (await api(client, f"STREAM.INFO.{NAME}"))["state"]["last_seq"]
        for _ in range(count):
            await store(client, "p20", body=b"x" * 100)
        for _ in range(100):
            if (await api(client, f"STREAM.INFO.{NAME}"))["state"]["last_seq"] == before + count:
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the stream does not show what it took")

    with_client(cluster, send)


def call(cluster: Cluster, *subjects: str) -> None:
    """JetStream API calls."""

    async def call_each(client: Client) -> None:
        for subject in subjects:
            await api(client, subject)

    with_client(cluster, call_each)


def _listed(cluster: Cluster) -> list[dict[str, Any]]:
    """The stream, as each server lists it."""
    query = "/jsz?accounts=true&streams=true&consumers=true&config=true"
    return [
        stream
        for name in cluster.names
        for account in cluster.monitor(name, query).get("account_details") or []
        for stream in account.get("stream_detail") or []
        if stream["name"] == NAME
    ]


def settled(cluster: Cluster) -> Samples:
    """A sample once the stream and its consumer are led."""

    def led() -> bool:
        details = _listed(cluster)
        clusters = [stream.get("cluster") or {"leader": "n1"} for stream in details]
        clusters += [c.get("cluster") or {"leader": "n1"} for s in details for c in s.get("consumer_detail") or []]
        return len(details) == len(cluster.names) and all(group.get("leader") for group in clusters)

    wait_until(led, "the stream and its consumer to be led everywhere", timeout=20)
    return once(cluster)


def delete_consumer(cluster: Cluster) -> None:
    """Deletes it, and waits until no server lists it."""
    call(cluster, f"CONSUMER.DELETE.{NAME}.worker")
    wait_until(lambda: not any(s.get("consumer_detail") for s in _listed(cluster)), "no consumer", timeout=20)


def version_of(cluster: Cluster) -> tuple[int, int]:
    """Major and minor."""
    major, minor, *_ = cluster.monitor("n1", "/varz")["version"].split(".")
    return int(major), int(minor)
