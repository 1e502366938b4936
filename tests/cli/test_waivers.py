"""Waivers and baselines: what is accepted does not count, in no format; what is new, graver or expired does."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jsdoctor.cli.app import run

LOST = """\
[7] 2026/11/21 10:00:00.000000 [INF] Starting nats-server
[7] 2026/11/21 10:00:00.000000 [INF]   Version:  2.12.8
[7] 2026/11/21 10:00:00.100000 [INF] Server is ready
[7] 2026/11/21 10:05:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled
[7] 2026/11/21 10:05:40.000000 [INF] 10.0.0.1:4222 - rid:9 - Route connection created
"""
LOGS = ("--logs", "n1.log", "--timezone", "UTC")
Json = dict[str, Any]


class Done(NamedTuple):
    """What a run returned and wrote."""

    returncode: int
    stdout: str
    stderr: str


class Place(NamedTuple):
    """A directory with a log in it, and `jsdoctor` run there, in this process: starting one for each run is slow."""

    path: Path
    capture: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> Done:
        code = run(arguments)
        out, err = self.capture.readouterr()
        return Done(code, out, err)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    (tmp_path / "n1.log").write_text(LOST)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Place(tmp_path, capsys)


def check(place: Place, *arguments: str) -> tuple[int, Json]:
    """The exit code and the JSON report of the log's check."""
    done = place.run("check", *LOGS, "--format", "json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def result(report: Json, code: str) -> Json:
    (failed,) = [r for r in report["results"] if r["code"] == code and r["outcome"] == "fail"]
    return dict(failed)


def waive(place: Place, days: int, rule: str = "JSD702", subject: str = "APP > *") -> str:
    last = (datetime.now(UTC) + timedelta(days=days)).date().isoformat()
    text = f'[[suppress]]\nrule = "{rule}"\nsubject = "{subject}"\nreason = "OPS-4711"\nexpires = {last}\n'
    (place.path / "jsdoctor.toml").write_text(text)
    return last


def test_a_waiver_holds_until_its_day_is_over(place: Place) -> None:
    code, report = check(place)
    assert (code, result(report, "JSD702")["suppressed"]) == (1, None)
    last = waive(place, 7)
    code, report = check(place)
    why = {"kind": "waiver", "reason": "OPS-4711", "expires": last}
    assert (code, result(report, "JSD702")["suppressed"]) == (0, why)
    assert report["summary"]["suppressed"] == 1
    assert sum(report["summary"]["findings"].values()) == 0
    assert not [r for r in report["results"] if r["code"] == "JSD902" and r["outcome"] == "fail"]


def test_an_expired_waiver_is_reported_and_waives_nothing(place: Place) -> None:
    waive(place, -2)
    code, report = check(place)
    assert (code, result(report, "JSD702")["suppressed"]) == (1, None)
    stale = result(report, "JSD902")
    assert (stale["severity"], stale["measured"]) == ("warning", 1)
    assert "count again" in stale["message"]


def test_a_waiver_of_another_subject_waives_nothing(place: Place) -> None:
    waive(place, 7, subject="APP > INVOICES")
    code, report = check(place)
    assert (code, result(report, "JSD702")["suppressed"]) == (1, None)


def test_a_waiver_of_a_rule_that_did_not_run_is_not_called_unused(place: Place) -> None:
    waive(place, 7, rule="JSD403")
    _, report = check(place)
    (stale,) = [r for r in report["results"] if r["code"] == "JSD902"]
    assert stale["outcome"] == "not_evaluated"


def test_what_is_waived_is_named_on_request(place: Place) -> None:
    waive(place, 7)
    done = place.run("check", *LOGS)
    assert "1 finding suppressed" in " ".join(done.stdout.split())
    assert "JSD702" not in done.stdout
    done = place.run("check", *LOGS, "-v")
    assert "OPS-4711" in done.stdout


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('rule = "JSD7O2"\nreason = "x"\nexpires = 2099-01-01', "names no rule; did you mean 'JSD7"),
        ('rule = "JSD702"\nexpires = 2099-01-01', "'reason' is missing"),
        ('rule = "JSD702"\nreason = "x"', "'expires' is missing"),
        ('rule = "JSD702"\nreason = "x"\nexpires = "2099-01-01"', "without quotes"),
        ('rule = "JSD702"\nreason = "x"\nexpires = 2099-01-01\nsubjects = "*"', "did you mean 'subject'"),
        ('rule = "JSD702"\nreason = " "\nexpires = 2099-01-01', "'reason' must be a text"),
    ],
)
def test_an_incomplete_waiver_is_refused_with_its_line(place: Place, written: str, message: str) -> None:
    (place.path / "jsdoctor.toml").write_text(f"# waivers\n\n[[suppress]]\n{written}\n")
    done = place.run("check", *LOGS)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "jsdoctor.toml:3" in done.stderr


def test_waivers_of_a_project_file(place: Place) -> None:
    text = '[tool.jsdoctor]\n\n[[tool.jsdoctor.suppress]]\nrule = "JSD7"\nreason = "OPS"\nexpires = 2999-01-01\n'
    (place.path / "pyproject.toml").write_text(text)
    assert check(place)[0] == 0
    (place.path / "pyproject.toml").write_text(text.replace("reason", "raeson"))
    done = place.run("check", *LOGS)
    assert "pyproject.toml:3" in done.stderr


def baseline(place: Place, what: str, *arguments: str) -> tuple[int, str]:
    done = place.run("baseline", what, "known.json", *LOGS, *arguments)
    return done.returncode, done.stderr


def test_a_baseline_accepts_what_is_there_and_nothing_else(place: Place) -> None:
    assert baseline(place, "write")[0] == 0
    code, report = check(place, "--baseline", "known.json")
    assert (code, result(report, "JSD702")["suppressed"]["kind"]) == (0, "baseline")
    (place.path / "n1.log").write_text(
        LOST + LOST.splitlines(True)[3].replace("ORDERS", "INVOICES").replace(":05:", ":06:")
    )
    code, report = check(place, "--baseline", "known.json")
    open_by_stream = {r["subject"]["name"]: r["suppressed"] is None for r in report["results"] if r["code"] == "JSD702"}
    assert (code, open_by_stream) == (1, {"ORDERS": False, "INVOICES": True})


def test_a_baseline_named_in_the_configuration(place: Place) -> None:
    baseline(place, "write")
    (place.path / "jsdoctor.toml").write_text('baseline = "known.json"\n')
    assert check(place)[0] == 0


def test_a_finding_that_became_more_severe_counts_again(place: Place) -> None:
    baseline(place, "write")
    file = place.path / "known.json"
    file.write_text(file.read_text().replace('"critical"', '"warning"'))
    assert check(place, "--baseline", "known.json")[0] == 1


def test_what_is_fixed_is_removed_and_what_was_not_judged_is_kept(place: Place) -> None:
    baseline(place, "write")
    file = place.path / "known.json"
    content = json.loads(file.read_text())
    content["findings"].append(content["findings"][0] | {"code": "JSD403", "fingerprint": "0123456789abcdef"})
    file.write_text(json.dumps(content))
    (place.path / "n1.log").write_text("".join(LOST.splitlines(True)[:3]))
    code, output = baseline(place, "prune")
    assert code == 0
    assert "1 kept" in output
    assert [finding["code"] for finding in json.loads(file.read_text())["findings"]] == ["JSD403"]


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "other/v1"}', '{"schema": 1}', "\x00", "[" * 100_000])
def test_what_is_no_baseline_is_refused(place: Place, content: str) -> None:
    (place.path / "known.json").write_text(content)
    done = place.run("check", *LOGS, "--baseline", "known.json")
    assert done.returncode == 2
    assert "known.json is no baseline" in done.stderr


def test_a_baseline_that_is_there_is_not_lost(place: Place) -> None:
    (place.path / "known.json").write_text("precious")
    code, output = baseline(place, "write")
    assert (code, (place.path / "known.json").read_text()) == (2, "precious")
    assert "--force" in output
    assert place.run("check", *LOGS, "--baseline", "no.json").returncode == 2
