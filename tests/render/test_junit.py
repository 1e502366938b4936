"""JUnit XML, read back by junitparser: every finding is a case, only what fails the run is a failure."""

from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET  # what is read here was written here

import pytest
from hypothesis import given
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Report
from jsdoctor.render.formats.junit import render as render_junit
from jsdoctor.render.options import RenderOptions
from tests.render import reports
from tests.render.strategies import options as any_options
from tests.render.strategies import reports as any_report


def read(report: Report, **settings: Any) -> JUnitXml:
    return JUnitXml.fromstring(render_junit(report, RenderOptions(**settings)).encode())


def cases(report: Report, **settings: Any) -> list[TestCase]:
    return [case for suite in read(report, **settings) for case in suite]


def kinds(cases: list[TestCase]) -> Counter[type]:
    return Counter(type(case.result[0]) if case.result else None for case in cases)  # type: ignore[misc]


@given(report=any_report, options=any_options)
def test_any_report_is_read_back_with_the_same_counts(report: Report, options: RenderOptions) -> None:
    text = render_junit(report, options)
    parsed = JUnitXml.fromstring(text.encode())
    cases = [case for suite in parsed for case in suite]
    counted = kinds(cases)
    assert (parsed.tests, parsed.failures, parsed.errors, parsed.skipped) == (
        len(cases),
        counted[Failure],
        counted[Error],
        counted[Skipped],
    )
    failing = [result for result in report.failures() if result.severity.rank >= options.fail_on.rank]
    assert counted[Failure] == len(failing)
    assert len(cases) >= len(report.results) + len(report.gaps)
    for suite in ET.fromstring(text).iter("testsuite"):  # noqa: S314
        assert suite.get("tests") == str(len(suite.findall("testcase")))


def test_what_does_not_fail_the_run_fails_no_case_but_is_reported() -> None:
    mild = reports.report(results=[reports.nearly_full()])
    [case] = cases(mild)
    assert isinstance(case.result[0], Skipped)
    assert case.result[0].message.startswith("warning, below --fail-on error: the stream holds")
    [case] = cases(mild, fail_on=Severity.WARNING)
    assert isinstance(case.result[0], Failure)


def test_each_line_of_a_log_is_named_and_the_first_is_where_it_is() -> None:
    report = reports.report(results=[reports.logged()])
    element = ET.fromstring(render_junit(report, RenderOptions())).find(".//testcase")  # noqa: S314
    assert element is not None
    assert (element.get("file"), element.get("line")) == ("logs/n1.log", "4711")
    assert "logs/n1.log:4720: [7] Slow Consumer Detected" in (element.findtext("failure") or "")


def test_passes_stay_passes_and_blindness_is_no_pass() -> None:
    night = cases(reports.busy())
    passes = [case for case in night if not case.result]
    assert {case.classname.split(".")[1] for case in passes} == {"JSD605", "JSD801"}
    undecided = [case for case in night if case.classname.split(".")[1] in ("JSD401", "JSD402", "JSD404")]
    assert kinds(undecided) == {Skipped: 3}
    assert all("not evaluated" in case.result[0].message for case in undecided)


@pytest.mark.parametrize(("allowed", "kind"), [(False, Error), (True, Skipped)])
def test_a_gap_is_an_error_until_it_is_allowed(allowed: bool, kind: type) -> None:
    gap, _ = reports.silent_gap("PAYMENTS")
    [case] = cases(reports.report(gaps=[gap]), allow_gaps=allowed)
    assert isinstance(case.result[0], kind)


@pytest.mark.parametrize("text", ["</failure><x>&<![CDATA[]]>", "a\x00\x08\x0b\x1f\ufffe\ud800b", "\"'<&>", "]]>"])
def test_hostile_text_is_text(text: str) -> None:
    result = reports.stuck(reports.consumer(text))
    parsed = cases(reports.report(results=[result]))
    assert len(parsed) == 1
    if text.isprintable():
        assert parsed[0].name == f"APP > ORDERS > {text}"
    assert result.finding.outcome is Outcome.FAIL
