"""`jsdoctor capture --logs`: the telling lines of logs in a bundle, and what `check --bundle` finds in them."""

import gzip
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import checked, jsdoctor
from tests.servers import ClusterFactory
from tests.support.log_cases import LOGS

pytestmark = pytest.mark.real
Json = dict[str, Any]
PASSWORD = "s3cret-0f-a-route"
WITH_PASSWORD = (
    "[1] 2026/11/20 10:00:00.000000 [ERR] Error trying to connect to route (attempt 1):"
    f" dial nats-route://r:{PASSWORD}@10.0.0.1:6222: refused\n"
)


def findings(report: Json) -> list[tuple[str, str, str]]:
    """Code, subject and severity of what logs tell."""
    return sorted(
        (result["code"], result["subject"]["name"], result["severity"])
        for result in report["results"]
        if result["outcome"] == "fail" and any(".log" in item["source"] for item in result["evidence"])
    )


@pytest.fixture
def site(shared_cluster: ClusterFactory, tmp_path: Path) -> tuple[Path, str]:
    """A directory with logs of a partition, one of them packed, and a server that is well."""
    (tmp_path / "logs").mkdir()
    for path in sorted((LOGS / "2.15.1").glob("l4-partition_n*.log")):
        shutil.copy(path, tmp_path / "logs")
    busy = tmp_path / "logs" / "n9.log"
    shutil.copy(LOGS / "2.15.1" / "c2-n2.log", busy)
    with busy.open("a") as file:
        file.write(WITH_PASSWORD)
    with gzip.open(tmp_path / "logs" / "n9.log.1.gz", "wb") as packed:
        packed.write((LOGS / "2.15.1" / "c2-n3.log").read_bytes())
    return tmp_path, shared_cluster().url("sys")


def test_a_bundle_shows_what_its_logs_show(site: tuple[Path, str]) -> None:
    top, url = site
    done = jsdoctor("capture", "-o", "b.zip", "-s", url, "--interval", "100ms", "--logs", "logs", cwd=top)
    assert done.returncode == 0, done.stderr
    assert "logs," in done.stdout
    shutil.move(top / "logs", top / "elsewhere")
    whole, kept = checked(top, "--logs", "elsewhere"), checked(top, "--bundle", "b.zip")
    assert findings(whole)
    assert findings(kept) == findings(whole)
    with zipfile.ZipFile(top / "b.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
        texts = b"".join(archive.read(log["name"]) for log in manifest["logs"])
    assert PASSWORD.encode() not in texts + json.dumps(manifest).encode()
    assert b"Error trying to connect to route" in texts
    assert sum(log["kept"] for log in manifest["logs"]) < sum(log["lines"] for log in manifest["logs"])
    assert {log["path"] for log in manifest["logs"]} >= {"n9.log", "n9.log.1.gz"}


def test_findings_name_the_log_in_the_bundle(site: tuple[Path, str]) -> None:
    top, url = site
    assert jsdoctor("capture", "-o", "b.zip", "-s", url, "--samples", "1", "--logs", "logs", cwd=top).returncode == 0
    results = checked(top, "--bundle", "b.zip")["results"]
    places = [item["source"] for result in results for item in result["evidence"] if ".log" in item["source"]]
    assert places
    assert all(place.startswith("b.zip!") for place in places)


def test_what_cannot_be_kept_is_reported_then_and_later(site: tuple[Path, str]) -> None:
    top, url = site
    (top / "logs" / "n8.log.bz2").write_bytes(b"BZh91AY&SY not what it says\n")
    done = jsdoctor("capture", "-o", "b.zip", "-s", url, "--samples", "1", "--logs", "logs", cwd=top)
    assert done.returncode == 3
    assert "n8.log.bz2" in done.stderr
    gaps = checked(top, "--bundle", "b.zip")["gaps"]
    assert any("n8.log.bz2" in gap["reason"] for gap in gaps)


def test_a_window_needs_logs(tmp_path: Path) -> None:
    done = jsdoctor("capture", "-o", "b.zip", "--since", "2h", cwd=tmp_path)
    assert done.returncode == 2
    assert "add --logs PATH" in done.stderr


def test_a_window_keeps_what_lies_in_it(site: tuple[Path, str]) -> None:
    top, url = site
    words = (
        "-s",
        url,
        "--samples",
        "1",
        "--logs",
        "logs/l4-partition_n3.log",
        "--since",
        "2001-01-01",
        "--until",
        "2001-01-02",
    )
    done = jsdoctor("capture", "-o", "b.zip", *words, cwd=top)
    assert done.returncode == 3, "no line of a log is no evidence of health"
    assert "no log line lies in the time window" in done.stderr
    with zipfile.ZipFile(top / "b.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["logs"] == []


def outcomes(report: Json) -> dict[str, str]:
    return {rule["code"]: rule["outcome"] for rule in report["rules"]}


def repacked(bundle: Path, change: Callable[[Json], None]) -> None:
    """The bundle with another manifest, as `c.zip`."""
    with zipfile.ZipFile(bundle) as archive, zipfile.ZipFile(bundle.with_name("c.zip"), "w") as changed:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                change(manifest)
                content = json.dumps(manifest).encode()
            changed.writestr(name, content)


def test_rules_pass_on_a_bundle_as_on_its_logs_and_not_where_lines_are_missing(site: tuple[Path, str]) -> None:
    """A long log of which few lines are kept is no short log; lines that nobody searched for are no absence."""
    top, url = site
    quiet = [f"[1] 2026/11/20 10:00:{second:02}.000000 [INF] Trace is on\n" for second in range(50)]
    (top / "quiet.log").write_text("".join(quiet))
    words = ("-s", url, "--samples", "2", "--logs", "quiet.log")
    assert jsdoctor("capture", "-o", "b.zip", *words, cwd=top).returncode == 0
    whole, bundle = outcomes(checked(top, "--logs", "quiet.log")), top / "b.zip"
    passed = {code for code, outcome in whole.items() if outcome == "pass"}
    assert len(passed) > 10
    kept = outcomes(checked(top, "--bundle", "b.zip"))
    assert {code for code in passed if kept[code] != "pass"} == set()
    repacked(bundle, lambda manifest: manifest.update(signatures=[]))
    unknown = outcomes(checked(top, "--bundle", "c.zip"))
    undecided = {code for code in passed if unknown[code] == "not_evaluated"}
    assert len(undecided) > 10
    repacked(bundle, lambda manifest: manifest["logs"][0].update(left_out=3))
    cut = outcomes(checked(top, "--bundle", "c.zip"))
    assert {cut[code] for code in undecided} == {"not_evaluated"}


def test_lines_that_repeat_very_often_can_be_read_again(site: tuple[Path, str]) -> None:
    """They shrink to less than readers of archives take for honest."""
    top, url = site
    (top / "same.log").write_text("[1] 2026/11/20 10:00:00.000000 [ERR] the same words again and again\n" * 20_000)
    words = ("-s", url, "--samples", "1", "--logs", "same.log")
    assert jsdoctor("capture", "-o", "b.zip", *words, cwd=top).returncode == 0
    assert [gap for gap in checked(top, "--bundle", "b.zip")["gaps"] if gap["kind"] == "bundle"] == []


@pytest.mark.parametrize("change", ["text", "gone"])
def test_a_changed_log_is_no_evidence(site: tuple[Path, str], change: str) -> None:
    top, url = site
    assert jsdoctor("capture", "-o", "b.zip", "-s", url, "--samples", "1", "--logs", "logs", cwd=top).returncode == 0
    with zipfile.ZipFile(top / "b.zip") as archive, zipfile.ZipFile(top / "c.zip", "w") as changed:
        for name in archive.namelist():
            if not name.startswith("logs/0001"):
                changed.writestr(name, archive.read(name))
            elif change == "text":
                changed.writestr(name, archive.read(name) + b"more\n")
    done = jsdoctor("check", "--bundle", "c.zip", "--format", "json", cwd=top)
    assert done.returncode == 3
    words = done.stdout + done.stderr
    assert ("does not have the digest" if change == "text" else "is missing from the bundle") in words
