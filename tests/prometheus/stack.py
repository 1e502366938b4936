"""Prometheus, with an exporter for each server of a cluster, on loopback.

The programs are looked for in PATH and in `.cache/bin`: `prometheus` and `promtool` (Debian's package), and
`prometheus-nats-exporter` and `nats-surveyor`, built with Go. Without them the test is skipped with the reason.
"""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from jsdoctor.demo.server import free_ports
from tests.servers import ROOT, Cluster, wait_until
from tests.servers.http import get

SCRAPE_S = 2
SURVEYOR = "nats-surveyor"
SURVEYOR_SCRAPE_S = 6
"""It queries the servers while Prometheus waits: one kind of reply after the other, each for a second at most."""
EXPORTER = "prometheus-nats-exporter"
FAMILIES = ("-varz", "-healthz", "-connz", "-gatewayz", "-leafz", "-routez", "-jsz=all")


def program(name: str) -> Path:
    """Where a program is. Without it, the test is skipped."""
    path = shutil.which(name) or shutil.which(name, path=str(ROOT / ".cache" / "bin"))
    if path is None:
        pytest.skip(f"{name} is neither in PATH nor in .cache/bin")
    return Path(path)


class Scraped(NamedTuple):
    """What exporters read: the monitoring ports of servers, and a login of their system account."""

    monitor_urls: Sequence[str]
    system_url: str


def of_cluster(cluster: Cluster) -> Scraped:
    """All servers of a cluster."""
    return Scraped(cluster.monitor_urls, cluster.url("sys"))


@contextmanager
def prometheus(
    servers: Scraped, directory: Path, exporter: str = EXPORTER, families: Sequence[str] = FAMILIES
) -> Iterator[str]:
    """A running Prometheus that has scraped every server at least twice: its URL. `families` are of the exporter."""
    ports = free_ports(1 if exporter == SURVEYOR else len(servers.monitor_urls))
    with ExitStack() as stack:
        if exporter == SURVEYOR:
            options = ["--servers", servers.system_url, "--count", str(len(servers.monitor_urls))]
            options += [
                "--timeout",
                "1s",
                "--jsz",
                "all",
                "--accounts",
                "--gatewayz",
                "--port",
                str(ports[0]),
                "--addr",
                "127.0.0.1",
            ]
            stack.enter_context(_running([str(program(exporter)), *options], directory / "surveyor.log"))
        else:
            for own, url in zip(ports, servers.monitor_urls, strict=True):
                options = ["-addr", "127.0.0.1", "-port", str(own), *families, url]
                stack.enter_context(_running([str(program(exporter)), *options], directory / f"exporter-{own}.log"))
        every = SURVEYOR_SCRAPE_S if exporter == SURVEYOR else SCRAPE_S
        url = stack.enter_context(scraping(ports, directory, every=every))
        wait_until(lambda: scrapes(url) >= 3, "every server is scraped", timeout=120)
        yield url


@contextmanager
def scraping(ports: Sequence[int], directory: Path, rules: Sequence[Path] = (), every: int = SCRAPE_S) -> Iterator[str]:
    """A Prometheus that has begun to scrape these ports of this machine, and evaluates these rules: its URL."""
    [own] = free_ports(1)
    config = directory / "prometheus.yml"
    targets = ", ".join(f"'127.0.0.1:{port}'" for port in ports)
    config.write_text(
        f"global: {{scrape_interval: {every}s, evaluation_interval: {every}s}}\n"
        f"rule_files: [{', '.join(str(file) for file in rules)}]\n"
        f"scrape_configs: [{{job_name: nats, static_configs: [{{targets: [{targets}]}}]}}]\n"
    )
    options = [f"--config.file={config}", f"--storage.tsdb.path={directory / 'tsdb'}"]
    options += [f"--web.listen-address=127.0.0.1:{own}"]
    with _running([str(program("prometheus")), *options], directory / "prometheus.log"):
        yield f"http://127.0.0.1:{own}"


def scrapes(url: str) -> int:
    """How often the exporter that was scraped least often has been scraped in the last five minutes."""
    try:
        reply = get(f"{url}/api/v1/query", params={"query": "min(sum_over_time(up[5m]))"}).json()
        known = get(
            f"{url}/api/v1/query", params={"query": 'count({__name__=~".*(_varz_mem|_core_mem_bytes)"})'}
        ).json()
    except (httpx2.HTTPError, ValueError):
        return 0
    result = reply["data"]["result"]
    return int(float(result[0]["value"][1])) if result and known["data"]["result"] else 0


@contextmanager
def _running(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield
        finally:
            process.terminate()
