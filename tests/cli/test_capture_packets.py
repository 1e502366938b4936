"""`jsdoctor capture` with packets and with the report: what `check --bundle` finds in them."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import checked, jsdoctor
from tests.packets.reading import CAPTURES
from tests.servers import ClusterFactory

pytestmark = pytest.mark.real
Json = dict[str, Any]
CAPTURE = "nats-errors.client.pcap.gz"


def of_packets(report: Json) -> list[tuple[str, str, str, str]]:
    """What packets tell: code, subject, severity and message."""
    return sorted(
        (result["code"], result["subject"]["name"], result["severity"], result["message"])
        for result in report["results"]
        if result["outcome"] == "fail" and result["code"] != "JSD720"
    )


@pytest.mark.parametrize("name", [CAPTURE, "lab-lost-rtt20.client.pcap.gz", "own-routes.pcap.gz"])
def test_a_bundle_shows_what_its_packets_show(shared_cluster: ClusterFactory, tmp_path: Path, name: str) -> None:
    shutil.copy(CAPTURES / name, tmp_path / "c.pcap.gz")
    url = shared_cluster().url("sys")
    words = ("-s", url, "--samples", "1", "--pcap", "c.pcap.gz")
    done = jsdoctor("capture", "-o", "b.zip", *words, "--isolated", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = checked(tmp_path, "--bundle", "b.zip")
    beside = checked(tmp_path, *words)
    assert of_packets(kept) == of_packets(beside)
    assert kept["traffic"] == beside["traffic"]
    assert any(source["kind"] == "pcap" for source in kept["sources"])
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert not [member for member in archive.namelist() if "pcap" in member]


def test_packets_of_a_bundle_are_not_mixed_with_others(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    shutil.copy(CAPTURES / CAPTURE, tmp_path / "c.pcap.gz")
    url = shared_cluster().url("sys")
    jsdoctor("capture", "-o", "b.zip", "-s", url, "--samples", "1", "--pcap", "c.pcap.gz", "--isolated", cwd=tmp_path)
    done = jsdoctor("check", "--bundle", "b.zip", "--pcap", "c.pcap.gz", "--isolated", cwd=tmp_path)
    assert done.returncode == 2
    assert "judge them apart" in done.stderr


def test_the_report_is_in_the_bundle_and_does_not_disturb_it(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    secret = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
    (tmp_path / "nats.log").write_text(
        f"[1] 2026/11/20 10:00:00.000000 [ERR] Error trying to connect to route (attempt 1): nats://r:{secret}@h:1\n"
        * 30
    )
    url = shared_cluster().url("sys")
    words = ("-s", url, "--interval", "100ms", "--logs", "nats.log", "--report", "--isolated")
    done = jsdoctor("capture", "-o", "b.zip", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        page = archive.read("report.html").decode()
        archive.extract("report.html", tmp_path)
    assert page.startswith("<!DOCTYPE html>")
    assert secret not in page
    again = jsdoctor("check", "--bundle", "b.zip", "--isolated", "-o", "again.html", cwd=tmp_path)
    assert again.returncode == 3, "no rule knows that error line"
    anchors = {code for code in page.split() if code.startswith('id="JSD')}
    assert anchors == {code for code in (tmp_path / "again.html").read_text().split() if code.startswith('id="JSD')}
