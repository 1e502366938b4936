"""Every query of the dashboards has values in a real Prometheus, which scrapes the real exporter of jsdoctor.

The metrics of the servers are those that a real prometheus-nats-exporter gave a real Prometheus, served again.
"""

import asyncio
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import nats
import pytest

from jsdoctor.demo.server import free_ports
from tests.kit.dashboards import DASHBOARDS, DEPLOY, variables
from tests.prometheus.stack import scraping
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.servers.http import get
from tests.support.deployment import add_consumer, add_stream
from tests.support.evidence import FIXTURES
from tests.support.http_server import QuietHandler, serving

pytestmark = pytest.mark.real

RULES = [DEPLOY / "prometheus" / f"jsdoctor-{name}.yaml" for name in ("records", "alerts")]
QUIET = {"Alerts"}
"""Panels whose queries have no value on a server with a single consumer that lags: no alert fires within a minute."""


def recorded_metrics() -> str:
    """One reply of the recording as an exporter serves it."""
    kept = json.loads(gzip.decompress((FIXTURES / "prometheus" / "exporter.json.gz").read_bytes()))
    replies = (
        json.loads(exchange["reply"])["data"]["result"] for exchange in kept if exchange["path"].endswith("/query")
    )
    lines = []
    for series in max(replies, key=len):
        labels = {key: value for key, value in series["metric"].items() if key not in {"instance", "job", "__name__"}}
        text = ",".join(f"{key}={json.dumps(value)}" for key, value in labels.items())
        lines.append(f"{series['metric']['__name__']}{{{text}}} {series['value'][1]}\n")
        if series["metric"]["__name__"] == "jetstream_server_max_storage":
            # The exporter has the same limit under a second name, which jsdoctor does not read and did not record.
            server = json.dumps(labels["server_id"])
            lines.append(f"gnatsd_varz_jetstream_config_max_storage{{server_id={server}}} {series['value'][1]}\n")
    return "".join(lines)


@contextmanager
def serving_metrics(text: str) -> Iterator[int]:
    """The port where a page of metrics is."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.respond(200, text.encode(), Content_Type="text/plain; version=0.0.4")

    with serving(Handler) as port:
        yield port


@contextmanager
def exporting(cluster: Cluster, directory: Path) -> Iterator[int]:
    """The port of a running `jsdoctor serve`."""
    [port] = free_ports(1)
    command = [sys.executable, "-m", "jsdoctor", "serve", "--isolated", "--no-context", "-s", cluster.url("app")]
    command += ["--listen", f"127.0.0.1:{port}", "--every", "1s", "--samples", "1"]
    environment = os.environ | {"XDG_CONFIG_HOME": str(directory)}
    with subprocess.Popen(command, cwd=directory, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield port
        finally:
            process.kill()


async def plant(cluster: Cluster) -> None:
    """A consumer that has never read a message, and a stream without any limit: findings of two severities."""
    client = await nats.connect(cluster.servers("app")[0])
    try:
        await add_stream(client, "ORDERS", subjects=["orders.>"])
        await add_consumer(client, "ORDERS", "worker", max_deliver=3)
        for number in range(20):
            await client.jetstream().publish(f"orders.{number}", b"x")
    finally:
        await client.close()


class Prometheus:
    """Queries of one running server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def series(self, expr: str) -> list[dict[str, Any]]:
        """What a panel shows at this moment. A query that is refused fails the test."""
        reply = get(f"{self.url}/api/v1/query", params={"query": expr}, timeout=30).json()
        assert reply["status"] == "success", f"{expr}: {reply}"
        series: list[dict[str, Any]] = reply["data"]["result"]
        return series

    def label_values(self, series: str, label: str) -> list[str]:
        """What a variable offers."""
        reply = get(f"{self.url}/api/v1/label/{label}/values", params={"match[]": series}, timeout=30).json()
        assert reply["status"] == "success", f"{series}: {reply}"
        values: list[str] = reply["data"]
        return values


@pytest.fixture(scope="module")
def prometheus(shared_cluster: ClusterFactory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    directory = tmp_path_factory.mktemp("prometheus")
    cluster = shared_cluster()
    asyncio.run(plant(cluster))
    with (
        serving_metrics(recorded_metrics()) as recorded,
        exporting(cluster, directory) as own,
        scraping([recorded, own], directory, RULES) as url,
    ):
        server = Prometheus(url)

        def ready() -> bool:
            try:
                return bool(
                    server.series("jsdoctor_findings > 0")
                    and server.series("count_over_time(jsdoctor:consumer_pending[1m]) > 3")
                )
            except (httpx2.HTTPError, ValueError):  # it replies 503 while it starts
                return False

        wait_until(ready, "both exporters are scraped and the rules evaluated", timeout=90)
        yield server


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_panel_has_values(name: str, prometheus: Prometheus) -> None:
    for panel in DASHBOARDS[name]["panels"]:
        [target] = panel["targets"]
        series = prometheus.series(_filled(target["expr"]))
        assert series or panel["title"] in QUIET, panel["title"]
        for label in _labels(target.get("legendFormat", "")):
            assert all(line["metric"].get(label) for line in series), f"{panel['title']}: no label {label}"
        if panel["type"] == "table":
            shown = {label for line in series for label in line["metric"]}
            assert shown <= set(panel["transformations"][0]["options"]["indexByName"])
            assert {"code", "slug", "severity", "stream"} <= shown


@pytest.mark.parametrize("name", [name for name in DASHBOARDS if variables(name)])
def test_every_variable_has_values(name: str, prometheus: Prometheus) -> None:
    for query in variables(name).values():
        series, _, label = query.removeprefix("label_values(").removesuffix(")").rpartition(", ")
        assert prometheus.label_values(_filled(series), label)


def _filled(expr: str) -> str:
    """With every variable as Grafana writes *All*."""
    for variable in ("stream", "consumer", "job"):
        expr = expr.replace(f"${variable}", ".+")
    return expr


def _labels(legend: str) -> list[str]:
    return [part.partition("}}")[0] for part in legend.split("{{")[1:]]
