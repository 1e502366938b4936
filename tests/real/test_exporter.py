"""`jsdoctor serve` beside a real server: metrics that a Prometheus client can read, and their age."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from jsdoctor.app.exporter import Exposition
from tests.cli.invoke import jsdoctor
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.servers.http import get

pytestmark = pytest.mark.real


@pytest.fixture
def exporter(cluster_factory: ClusterFactory, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, Cluster]]:
    cluster = cluster_factory()
    command = [sys.executable, "-m", "jsdoctor", "serve", "-s", cluster.url("sys"), "--no-context", "--timeout", "1s"]
    command += ["--listen", "127.0.0.1:0", "--every", "1s", "--samples", "1"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address_line = process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop it
        yield process, address_line.split()[4].rstrip(";"), cluster
        process.kill()


def fetch(url: str) -> dict[str, float]:
    """Metrics without labels, and how many series there are of each that has some."""
    try:
        answer = get(url, timeout=10)
    except httpx2.TransportError:
        return {}
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(answer.text))
    samples = [sample for family in families for sample in family.samples]
    return {sample.name: sample.value for sample in samples if not sample.labels} | {
        f"{sample.name} series": float(sum(other.name == sample.name for other in samples)) for sample in samples
    }


def test_metrics_are_served_grow_old_and_show_their_age(exporter: tuple[subprocess.Popen[str], str, Cluster]) -> None:
    process, url, cluster = exporter
    wait_until(lambda: "jsdoctor_report_age_seconds" in fetch(url), "a first report", timeout=60)
    first = fetch(url)
    assert first["jsdoctor_run_exit_code"] in (0, 1)
    assert first["jsdoctor_rule_outcome series"] > 50
    assert get(url.replace("metrics", "secrets"), timeout=10).status_code == 404
    cluster.stop("n1")
    wait_until(lambda: fetch(url).get("jsdoctor_checks_failed_total", 0) > 1, "checks to fail", timeout=60)
    old = fetch(url)
    assert old["jsdoctor_run_timestamp_seconds"] >= first["jsdoctor_run_timestamp_seconds"]
    wait_until(
        lambda: fetch(url)["jsdoctor_report_age_seconds"] > old["jsdoctor_report_age_seconds"], "the report to age"
    )
    cluster.start("n1")
    again = time.time()
    wait_until(lambda: fetch(url)["jsdoctor_run_timestamp_seconds"] > again, "a new report", timeout=60)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130


def test_sigterm_ends_it_as_planned(exporter: tuple[subprocess.Popen[str], str, Cluster]) -> None:
    process, _, _ = exporter
    process.terminate()
    assert process.wait(20) == 0


def test_nothing_is_made_up_before_the_first_report() -> None:
    text = Exposition().text()
    assert "report_age" not in text
    assert "jsdoctor_checks_failed_total 0" in text


@pytest.mark.parametrize("address", ["", "here", "127.0.0.1:", ":9855", "127.0.0.1:99999", "127.0.0.1:-1"])
def test_what_is_no_address_is_refused(address: str, tmp_path: Path) -> None:
    done = jsdoctor("serve", "--listen", address, "--isolated", cwd=tmp_path)
    assert done.returncode == 2
    assert "HOST:PORT" in done.stderr


def test_an_address_that_is_taken_is_reported(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()
    taken = cluster.url("app").rpartition(":")[2]
    done = jsdoctor("serve", "--listen", f"127.0.0.1:{taken}", "-s", cluster.url("sys"), "--isolated", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot listen" in done.stderr
