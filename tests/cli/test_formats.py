"""`--format` from outside: one exit code for all but nagios, files that appear whole, the summary of a step."""

import json
import subprocess
from pathlib import Path

import pytest
from junitparser import JUnitXml
from prometheus_client.parser import text_string_to_metric_families

from jsdoctor.cli.output import append_step_summary
from jsdoctor.render.formats import FORMATS
from tests.cli.invoke import jsdoctor

NOBODY = ("-s", "nats://127.0.0.1:1", "--isolated")


def audit(logs: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return jsdoctor("audit", "--isolated", "--engine", "local", ".", *arguments, cwd=logs, env=env)


@pytest.mark.parametrize("format_", FORMATS)
def test_findings_end_the_same_in_every_format(logs: Path, format_: str) -> None:
    done = audit(logs, "--format", format_)
    assert done.returncode == (2 if format_ == "nagios" else 1)
    assert "JSD702" in done.stdout


@pytest.mark.parametrize("format_", FORMATS)
def test_missing_evidence_ends_the_same_in_every_format(tmp_path: Path, format_: str) -> None:
    done = jsdoctor("check", *NOBODY, "--format", format_, cwd=tmp_path)
    assert done.returncode == 3
    assert "127.0.0.1:1" in done.stdout + done.stderr
    if format_ == "nagios":
        assert done.stdout.startswith("JSDOCTOR UNKNOWN - ")


def test_nothing_found_is_ok_in_nagios(logs: Path) -> None:
    done = audit(logs, "--format", "nagios", "--select", "JSD704")
    assert (done.returncode, done.stdout.split(" - ")[0]) == (0, "JSDOCTOR OK")


def test_what_ends_a_plugin_early_is_unknown_and_reported_where_plugins_are_read(tmp_path: Path) -> None:
    done = jsdoctor("check", *NOBODY, "--select", "JSD999|<b>", "--format", "nagios", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout.startswith("JSDOCTOR UNKNOWN - ")
    assert "JSD999\\x7c\\x3cb>" in done.stdout
    assert "JSD999" in done.stderr


def test_lines_of_logs_are_found_from_where_they_were_read(logs: Path) -> None:
    [run] = json.loads(audit(logs, "--format", "sarif", "--select", "JSD702").stdout)["runs"]
    assert run["results"]
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        lines = (logs / place["artifactLocation"]["uri"]).read_text(encoding="utf-8").splitlines()
        assert place["region"]["snippet"]["text"].strip() in lines[place["region"]["startLine"] - 1]


def test_a_file_for_the_textfile_collector_is_replaced_and_never_half_there(logs: Path, tmp_path: Path) -> None:
    place = tmp_path / "jsdoctor.prom"
    place.write_text("old")
    before = place.stat().st_ino
    assert audit(logs, "--format", "prometheus", "-o", str(place)).returncode == 1
    assert place.stat().st_ino != before
    assert list(tmp_path.iterdir()) == [place]
    families = {family.name: family for family in text_string_to_metric_families(place.read_text(encoding="utf-8"))}
    assert families["jsdoctor_run_exit_code"].samples[0].value == 1


def test_junit_is_read_from_a_file(logs: Path, tmp_path: Path) -> None:
    place = tmp_path / "jsdoctor.xml"
    audit(logs, "--format", "junit", "-o", str(place))
    parsed = JUnitXml.fromfile(str(place))
    assert parsed.failures >= 1
    assert parsed.tests > parsed.failures


def test_github_gets_annotations_and_a_summary_of_the_step(logs: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("from another step\n\n")
    done = audit(logs, "--format", "github", env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert "::error file=" in done.stdout
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("from another step\n\n## jsdoctor: ")
    assert "### critical JSD702" in text


def test_a_summary_that_cannot_be_written_changes_nothing_else(logs: Path, tmp_path: Path) -> None:
    done = audit(logs, "--format", "github", env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "where")})
    assert done.returncode == 1
    assert "cannot write the step summary" in done.stderr


def test_a_summary_is_never_longer_than_github_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    append_step_summary("a line of a long table é\n" * 100_000)
    text = place.read_bytes()
    assert len(text) < 1024 * 1024
    assert text.decode().splitlines()[-1] == "cut here; --max-examples shortens the lists"


def test_the_catalogue_has_its_own_formats(tmp_path: Path) -> None:
    done = jsdoctor("rules", "list", "--format", "sarif", cwd=tmp_path)
    assert done.returncode == 2
    assert "text" in done.stderr
    assert "json" in done.stderr


def test_one_run_writes_several_formats(logs: Path, tmp_path: Path) -> None:
    done = audit(
        logs,
        *("-o", str(tmp_path / "report.json")),
        *("-o", str(tmp_path / "report.sarif")),
        *("-o", f"gitlab={tmp_path / 'quality.json'}", "-o", "-"),
    )
    assert done.returncode == 1
    assert done.stdout.startswith("jsdoctor ")
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == "jsdoctor.report/v1"
    assert json.loads((tmp_path / "report.sarif").read_text())["version"] == "2.1.0"
    assert isinstance(json.loads((tmp_path / "quality.json").read_text()), list)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["-o", "{}/a.json"], "json"),
        (["-o", "{}/a.json", "--format", "gitlab"], "gitlab"),
        (["-o", "gitlab={}/a.json", "--format", "json"], "gitlab"),
        (["-o", "{}/a.json", "--format", "gitlab", "-o", "-"], "json"),
        (["-o", "{}/a.report", "--format", "gitlab", "-o", "-"], "gitlab"),
        (["-o", "{}/a.report"], "text"),
    ],
)
def test_the_prefix_then_the_format_of_a_single_output_then_the_suffix_decides(
    logs: Path, tmp_path: Path, arguments: list[str], written: str
) -> None:
    audit(logs, "--select", "JSD702", *(argument.format(tmp_path) for argument in arguments))
    [place] = tmp_path.iterdir()
    text = place.read_text()
    assert written == {"{": "json", "[": "gitlab", "j": "text"}[text[0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "-", "-o", "json=-"], "two outputs go to stdout"),
        (["-o", "a.json", "-o", "sarif=a.json"], "two outputs go to"),
        (["-o", "nowhere/a.json"], "cannot write nowhere/a.json"),
        (["-o", "json="], "FORMAT=FILE"),
        (["-o", "."], "is a directory"),
        (["-o", "json"], "write --format json, or -o ./json"),
    ],
)
def test_outputs_that_cannot_be_written_end_a_run_before_it_begins(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = jsdoctor("check", *NOBODY, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_output_for_nagios_has_its_exit_codes(logs: Path, tmp_path: Path) -> None:
    assert audit(logs, "-o", f"nagios={tmp_path / 'state'}", "-o", "-").returncode == 2


def test_diagnose_writes_its_formats_and_names_them(tmp_path: Path) -> None:
    done = jsdoctor("diagnose", "--offline", "duplicate orders", "-o", "a.json", "-o", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads((tmp_path / "a.json").read_text())["schema"] == "jsdoctor.diagnosis/v1"
    assert "jsdoctor" in done.stdout
    done = jsdoctor("diagnose", "--offline", "duplicate orders", "-o", "a.sarif", cwd=tmp_path)
    assert done.returncode == 2
    assert "it writes text, json, html" in done.stderr
