"""SARIF: valid, readable by another library, pointing at lines of logs, silent about nothing."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from sarif_pydantic import Sarif  # type: ignore[import-untyped]

from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Report, Result
from jsdoctor.render.formats.sarif import FINGERPRINT
from jsdoctor.render.formats.sarif import render as render_sarif
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.places import file_uri
from tests.render import reports
from tests.render.strategies import options as any_options
from tests.render.strategies import reports as any_report

WRITTEN: dict[str, Any] = json.loads((Path(__file__).parent / "sarif-as-written.json").read_text(encoding="utf-8"))
"""What of SARIF 2.1.0 jsdoctor writes, closed everywhere: a subset of the OASIS schema."""
OASIS = os.environ.get("JSDOCTOR_SARIF_SCHEMA")
CASES = {**reports.cases(), "busy": reports.busy(), "hostile": reports.hostile()}


def document(report: Report, **settings: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(render_sarif(report, RenderOptions(**settings)))
    return parsed


def run(report: Report, **settings: Any) -> dict[str, Any]:
    [only] = document(report, **settings)["runs"]
    return dict(only)


def failed_but_suppressed(report: Report) -> list[Result]:
    return [result for result in report.suppressed() if result.finding.outcome is Outcome.FAIL]


@given(report=any_report, options=any_options)
def test_any_report_is_a_sarif_log(report: Report, options: RenderOptions) -> None:
    parsed = json.loads(render_sarif(report, options))
    jsonschema.Draft202012Validator(WRITTEN).validate(parsed)
    read = Sarif.model_validate(parsed)
    assert len(read.runs[0].results or ()) == len(report.failures()) + len(failed_but_suppressed(report))


@pytest.mark.skipif(not OASIS, reason="JSDOCTOR_SARIF_SCHEMA names no copy of sarif-schema-2.1.0.json")
@given(report=any_report, options=any_options)
def test_any_report_is_valid_by_the_schema_of_oasis(report: Report, options: RenderOptions) -> None:
    schema = json.loads(Path(OASIS or "").read_text(encoding="utf-8"))
    jsonschema.Draft4Validator(schema).validate(json.loads(render_sarif(report, options)))


def test_a_line_of_a_log_is_a_physical_location_and_a_consumer_a_logical_one() -> None:
    [result] = run(reports.report(results=[reports.logged("logs/n 1.log")]))["results"]
    [location] = result["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "logs/n%201.log"}
    assert location["physicalLocation"]["region"]["startLine"] == 4711
    assert [place["physicalLocation"]["region"]["startLine"] for place in result["relatedLocations"]] == [4720]
    [result] = run(reports.report(results=[reports.stuck(reports.consumer("billing"))]))["results"]
    assert result["locations"] == [
        {"logicalLocations": [{"kind": "consumer", "fullyQualifiedName": "APP > ORDERS > billing", "name": "billing"}]}
    ]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("logs/a.log", "logs/a.log"),
        ("/var/log/nats/a b.log", "file:///var/log/nats/a%20b.log"),
        ("s3://bucket/logs/a#1.log", "s3://bucket/logs/a%231.log"),
        ("c:odd", "c%3Aodd"),
        ("a\ud800\n", "a%EF%BF%BD%0A"),
    ],
)
def test_files_are_uris(file: str, uri: str) -> None:
    assert file_uri(file) == uri


def test_fingerprints_are_those_of_the_report() -> None:
    night = reports.busy()
    expected = sorted(result.fingerprint for result in night.failures())
    assert sorted(result["partialFingerprints"][FINGERPRINT] for result in run(night)["results"]) == expected


def test_nothing_is_dropped() -> None:
    night = reports.busy()
    written = run(night, max_examples=1)
    assert len(written["results"]) == len(night.failures())
    notices = written["invocations"][0]["toolExecutionNotifications"]
    kinds = [notice["descriptor"]["id"] for notice in notices]
    assert kinds.count("gap") == 2
    assert kinds.count("not-offered") == 1
    assert kinds.count("check-failed") == sum(result.finding.outcome is Outcome.ERROR for result in night.results)
    notes = " ".join(notice["message"]["text"] for notice in notices)
    assert all(code in notes for code in ("JSD401", "JSD402", "JSD404"))
    assert "leave --samples at 2 or more" in notes


@pytest.mark.parametrize(
    ("case", "settings", "successful", "code"),
    [
        ("clean", {}, True, 0),
        ("findings", {}, True, 1),
        ("gap", {}, False, 3),
        ("gap", {"allow_gaps": True}, True, 0),
        ("crash", {}, False, 4),
    ],
)
def test_a_run_that_saw_too_little_was_no_success(
    case: str, settings: dict[str, bool], successful: bool, code: int
) -> None:
    [invocation] = run(CASES[case], **settings)["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (successful, code)
