"""`jsdoctor audit` and `check --logs` without a Spark: what is read, what is refused, what is said of the engine."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.invoke import jsdoctor
from tests.cli.test_no_evidence import SCHEMA
from tests.servers import ClusterFactory

LOCAL = ("--isolated", "--engine", "local")


def report_of(*arguments: str, cwd: Path) -> tuple[int, dict[str, Any]]:
    done = jsdoctor(*arguments, "--format", "json", cwd=cwd)
    report: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    return done.returncode, report


def requested(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [gap for gap in report["gaps"] if gap["requested"]]


def test_the_report_names_what_was_read_the_engine_and_why(logs: Path, tmp_path: Path) -> None:
    code, report = report_of("audit", *LOCAL, str(logs), cwd=tmp_path)
    assert code in (0, 1)
    assert "logs of 3 servers: 6 files" in report["summary"]["headline"]
    assert "; read in-process (1 process): --engine local" in report["summary"]["headline"]
    assert [(source["kind"], source["name"]) for source in report["sources"]] == [("logs", str(logs))]
    assert not requested(report)


def test_check_reads_the_same(logs: Path, tmp_path: Path) -> None:
    _, audit = report_of("audit", *LOCAL, str(logs), cwd=tmp_path)
    code, check = report_of("check", "--isolated", "--logs", str(logs), cwd=tmp_path)
    assert code in (0, 1)
    assert check["results"] == audit["results"]
    assert check["rules"] == audit["rules"]
    assert "read in-process" not in check["summary"]["headline"], "as usual"


@pytest.mark.parametrize(
    "arguments", [("check", "-s", "127.0.0.1:1"), ("check", "--logs", "one.log"), ("audit", "--isolated", "gone.log")]
)
def test_no_spark_is_loaded_where_none_is_used(arguments: tuple[str, ...], logs: Path, tmp_path: Path) -> None:
    (tmp_path / "one.log").write_bytes(next(logs.rglob("*.log")).read_bytes())
    program = f"""
import runpy, sys
sys.argv = ["jsdoctor", *{arguments!r}]
try:
    runpy.run_module("jsdoctor", run_name="__main__")
except SystemExit as end:
    assert end.code in (0, 1, 3), end.code
heavy = {{"pyspark", "py4j", "pandas", "pyarrow"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_was_named_and_is_not_there_makes_it_inconclusive(logs: Path, tmp_path: Path) -> None:
    code, report = report_of("check", "--logs", str(logs), "--logs", "gone.log", "--isolated", cwd=tmp_path)
    (gap,) = requested(report)
    assert gap["kind"] == "log"
    assert gap["subject"]["name"] == "gone.log"
    assert code in (1, 3)
    code, report = report_of("check", "--logs", "gone.log", "--isolated", "--exit-zero", cwd=tmp_path)
    assert code == 3


def cut_gzip(directory: Path, logs: Path) -> Path:
    directory.mkdir()
    whole = gzip.compress(next(logs.rglob("*.log")).read_bytes())
    cut = directory / "cut.log.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    return cut


def test_what_is_cut_off_is_reported_and_counts_when_it_was_named(logs: Path, tmp_path: Path) -> None:
    cut = cut_gzip(tmp_path / "some", logs)
    code, report = report_of("check", "--logs", str(cut), "--isolated", "--exit-zero", cwd=tmp_path)
    assert code == 3
    (gap,) = requested(report)
    assert "cut.log.gz" in gap["subject"]["name"]
    code, report = report_of("check", "--logs", str(cut.parent), "--isolated", "--exit-zero", cwd=tmp_path)
    assert code == 0
    assert any("cut.log.gz" in gap["subject"]["name"] for gap in report["gaps"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "x.log", "--engine", "local", "--master", "spark://h:7077"), "--engine local uses no Spark"),
        (("audit", "x.log", "--engine", "local", "--conf", "a=b"), "--engine local uses no Spark"),
        (("audit", "x.log", "--master", "local[1]", "--remote", "sc://h:1"), "two clusters"),
        (("audit", "x.log", "--remote", "http://h:1"), "not the address of a Connect server"),
        (("audit", "x.log", "--conf", "spark"), "KEY=VALUE"),
        (("audit", "x.log", "--timezone", "Europe/Nowhere"), "no time zone in 'Europe/Nowhere'"),
        (("audit", "x.log", "--server-name", "=n1"), "PATTERN=VALUE"),
        (("audit",), "there are no logs to audit"),
        (("check", "--timezone", "UTC"), "no logs to read"),
        (("check", "--engine", "spark"), "no logs to read"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("nothing\n")
    done = jsdoctor(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr


@pytest.mark.parametrize("option", [("--remote", "sc://127.0.0.1:1"), ("--master", "spark://127.0.0.1:1")])
def test_a_spark_that_cannot_be_reached(option: tuple[str, str], logs: Path, tmp_path: Path) -> None:
    done = jsdoctor("audit", "--isolated", str(logs), *option, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"cannot reach {option[1]}" in done.stderr


def test_events_are_not_mixed_with_what_is_there(logs: Path, tmp_path: Path) -> None:
    events = tmp_path / "events"
    assert jsdoctor("audit", *LOCAL, str(logs), "--events", "events", cwd=tmp_path).returncode in (0, 1)
    before = sorted(events.rglob("*"))
    done = jsdoctor("audit", *LOCAL, str(logs), "--events", "events", cwd=tmp_path)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert sorted(events.rglob("*")) == before


def test_zone_and_server_are_those_given(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(next(logs.rglob("*.log")).read_bytes().replace(b"  Name:     n1", b"-"))
    given = ("--timezone", "a.log=Europe/Berlin", "--server-name", "*.log=gamma", "--events", "events")
    assert jsdoctor("audit", *LOCAL, "a.log", *given, cwd=tmp_path).returncode in (0, 1)
    assert {path.name for path in (tmp_path / "events").glob("*/*")} == {"server=gamma"}
    assert min(path.name for path in (tmp_path / "events").glob("date=*")) == "date=2026-11-13"


@pytest.mark.real
def test_logs_are_judged_beside_a_deployment_and_beside_a_bundle(
    shared_cluster: ClusterFactory, logs: Path, tmp_path: Path
) -> None:
    url = shared_cluster().url("sys")
    assert jsdoctor("capture", "-s", url, "-o", "it.zip", "--samples", "1", cwd=tmp_path).returncode in (0, 3)
    for named, kind in ((("-s", url, "--samples", "1"), "live"), (("--bundle", "it.zip"), "bundle")):
        _, report = report_of("check", "--isolated", *named, "--logs", str(logs), cwd=tmp_path)
        assert {source["kind"] for source in report["sources"]} == {kind, "logs"}
        assert "1 server" in report["summary"]["headline"]
        assert "logs of 3 servers: " in report["summary"]["headline"]
        assert not any(gap["kind"] == "logs" for gap in report["gaps"])
