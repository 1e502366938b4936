"""When nothing answers: one sentence, what to type next, exit 3, and for machines still a valid document."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.invoke import jsdoctor
from tests.servers import ClusterFactory
from tests.servers.binaries import ROOT

SCHEMA = json.loads((ROOT / "docs" / "schema" / "report-v1.json").read_text())


def test_refused(tmp_path: Path) -> None:
    done = jsdoctor("check", "-s", "nats://127.0.0.1:1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "connection refused" in done.stderr


def test_refused_for_machines(tmp_path: Path) -> None:
    done = jsdoctor("check", "-s", "nats://127.0.0.1:1", "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert done.returncode == 3
    of_servers = [rule for rule in report["rules"] if rule["code"] != "JSD902"]  # waivers need no server
    assert {rule["outcome"] for rule in of_servers} <= {"not_evaluated", "fail"}
    assert any(gap["requested"] and gap["kind"] == "connection" for gap in report["gaps"])


def test_gaps_can_be_allowed(tmp_path: Path) -> None:
    done = jsdoctor("check", "-s", "127.0.0.1:1", "--allow-gaps", "--ignore", "JSD901", cwd=tmp_path)
    assert done.returncode == 0


def test_monitoring_port_closed(tmp_path: Path) -> None:
    done = jsdoctor("check", "--monitor", "http://127.0.0.1:1", cwd=tmp_path)
    assert done.returncode in (1, 3)
    assert "http://127.0.0.1:1" in done.stdout


@pytest.mark.real
def test_wrong_password(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    server = shared_cluster()
    url = server.url("app").replace("app:app", "app:wr0ng")
    done = jsdoctor("check", "-s", url, cwd=tmp_path)
    assert done.returncode == 3
    assert "wr0ng" not in done.stderr + done.stdout
    assert "authorization" in done.stderr.lower() or "password" in done.stderr.lower()


@pytest.mark.real
def test_plain_account_reports_what_it_cannot_see(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    done = jsdoctor("check", "-s", shared_cluster().url("app"), "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert any("plain account" in gap["reason"] for gap in report["gaps"] if not gap["requested"])


@pytest.mark.real
def test_account_without_jetstream(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    server = cluster_factory(accounts="NOJS { users: [{user: bare, password: bare}] }\n")
    done = jsdoctor("check", "-s", server.url("app").replace("app:app", "bare:bare"), "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert done.returncode in (1, 3)
    assert any(gap["requested"] for gap in report["gaps"])


@pytest.mark.real
def test_user_without_permissions(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    denied = '{user: mute, password: mute, permissions: {publish: {deny: ["$JS.>"]}}}'
    server = cluster_factory(accounts=f"MUTE {{ jetstream: enabled, users: [{denied}] }}\n")
    url = server.url("app").replace("app:app", "mute:mute")
    done = jsdoctor("check", "-s", url, "--timeout", "2s", "--format", "json", cwd=tmp_path, timeout=20)
    report = json.loads(done.stdout)
    assert done.returncode in (1, 3)
    assert any("$JS.API" in gap["reason"] + gap["how_to_get"] for gap in report["gaps"] if gap["requested"])


@pytest.mark.real
def test_a_rule_named_without_its_evidence_is_inconclusive(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    url = shared_cluster().url("app")
    assert jsdoctor("check", "-s", url, "--select", "JSD801", cwd=tmp_path).returncode == 3
    assert jsdoctor("check", "-s", url, "--select", "JSD8", cwd=tmp_path).returncode == 0


@pytest.mark.real
def test_no_gap_is_reported_for_what_no_selected_rule_requests(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    url = shared_cluster().url("app")
    for rules, missed in (
        ("JSD619", []),
        ("JSD605", ["access"]),
        ("JSD401", ["samples"]),
        ("JSD8", ["access", "addresses", "history", "host", "kubernetes", "logs", "manifest"]),
    ):
        arguments = ("check", "-s", url, "--select", rules, "--samples", "1", "--format", "json")
        report = json.loads(jsdoctor(*arguments, cwd=tmp_path).stdout)
        assert [gap["kind"] for gap in report["gaps"] if not gap["requested"]] == missed, rules


@pytest.mark.parametrize("content", ["", "\n \n", "the cat sat on the mat\n"])
def test_a_log_that_shows_nothing_is_no_pass(content: str, tmp_path: Path) -> None:
    (tmp_path / "some.log").write_text(content)
    done = jsdoctor("check", "--logs", "some.log", "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert done.returncode == 3
    assert {rule["outcome"] for rule in report["rules"]} <= {"not_evaluated", "not_applicable", "fail"}
    assert any(gap["requested"] and "nothing was judged" in gap["reason"] for gap in report["gaps"])


def test_an_empty_log_beside_another_is_named(tmp_path: Path) -> None:
    (tmp_path / "full.log").write_text("[7] 2026/11/21 10:00:00.000000 [INF] Server is ready\n")
    (tmp_path / "empty.log").write_text("")
    done = jsdoctor("check", "--logs", "full.log", "--logs", "empty.log", cwd=tmp_path)
    assert done.returncode == 3
    assert "empty.log: it is empty" in done.stdout
    assert jsdoctor("check", "--logs", ".", cwd=tmp_path).returncode == 0, "rotation leaves empty files in directories"


@pytest.mark.parametrize(
    "arguments", [["check", "--logs", "-"], ["check", "-"], ["diagnose", "-"], ["diagnose", "--logs", "-"]]
)
def test_empty_standard_input_is_inconclusive(arguments: list[str], tmp_path: Path) -> None:
    done = jsdoctor(*arguments, cwd=tmp_path)
    assert done.returncode == 3
    assert "it is empty" in done.stdout
