"""Every format of a report: golden files for each kind of report, any report at all, one exit code for all of them."""

from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.app.judging import Judging, open_judging
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.request import JudgeRequest
from jsdoctor.engine.verdict import ExitCode, NagiosState, exit_code
from jsdoctor.model.finding import Severity
from jsdoctor.model.report import Report
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions
from tests.render import reports
from tests.render.golden import assert_golden
from tests.render.strategies import options as any_options
from tests.render.strategies import reports as any_report

ELSEWHERE = {"text", "json", "html"}
"""Formats whose golden files have tests of their own."""
GOLDEN = sorted(set(FORMATS) - ELSEWHERE)
CASES = reports.cases()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("format_", GOLDEN)
def test_looks_as_it_was_looked_at(format_: str, case: str) -> None:
    assert_golden(f"formats/{case}.{format_}", FORMATS[format_](CASES[case], RenderOptions()))


@pytest.mark.parametrize("format_", GOLDEN)
def test_hostile_text_looks_as_it_was_looked_at(format_: str) -> None:
    written = FORMATS[format_](reports.hostile(), RenderOptions())
    assert all(character.isprintable() or character == "\n" for character in written)
    assert_golden(f"formats/hostile.{format_}", written)


@given(report=any_report, options=any_options)
def test_any_report_is_written_in_every_format_in_the_requested_encoding(
    report: Report, options: RenderOptions
) -> None:
    for format_, render in FORMATS.items():
        written = render(report, options)
        written.encode("ascii" if options.ascii_only else "utf-8")
        assert written.endswith("\n") or format_ == "text"
        if not (format_ == "text" and options.color):
            assert all(character.isprintable() or character == "\n" for character in written)


def to_stdout(format_: str) -> tuple[OutputTarget, ...]:
    return (OutputTarget(format_, None),)


@cache
def judging() -> Judging:
    return open_judging(JudgeRequest(isolated=True))


@given(report=any_report, fail_on=st.sampled_from(Severity), exit_zero=st.booleans(), allow_gaps=st.booleans())
def test_the_exit_code_is_that_of_the_report_whatever_the_format(
    report: Report, fail_on: Severity, exit_zero: bool, allow_gaps: bool
) -> None:
    codes: dict[str, ExitCode | NagiosState] = {}
    for format_ in FORMATS:
        request = JudgeRequest(output=to_stdout(format_), fail_on=fail_on, exit_zero=exit_zero, allow_gaps=allow_gaps)
        codes[format_] = msgspec.structs.replace(judging(), request=request).exit_code(report)
    state = codes.pop("nagios")
    assert set(codes.values()) == {exit_code(report, fail_on, exit_zero, allow_gaps)}
    failing = not exit_zero and any(result.severity.rank >= fail_on.rank for result in report.failures())
    [code] = set(codes.values())
    assert isinstance(state, NagiosState)
    assert (state is NagiosState.CRITICAL) == failing
    assert (state is NagiosState.UNKNOWN) == (not failing and code in (ExitCode.INTERNAL, ExitCode.INCONCLUSIVE))
    if code is not ExitCode.OK:
        assert state in (NagiosState.CRITICAL, NagiosState.UNKNOWN)


@pytest.mark.parametrize(
    ("case", "code", "state"),
    [
        ("clean", ExitCode.OK, NagiosState.OK),
        ("findings", ExitCode.FINDINGS, NagiosState.CRITICAL),
        ("gap", ExitCode.INCONCLUSIVE, NagiosState.UNKNOWN),
        ("undecided", ExitCode.OK, NagiosState.OK),
        ("crash", ExitCode.INTERNAL, NagiosState.UNKNOWN),
        ("suppressed", ExitCode.OK, NagiosState.WARNING),
        ("existing", ExitCode.OK, NagiosState.WARNING),
    ],
)
def test_exit_codes_of_the_golden_reports(case: str, code: ExitCode, state: NagiosState) -> None:
    for format_ in FORMATS:
        got = msgspec.structs.replace(judging(), request=JudgeRequest(output=to_stdout(format_))).exit_code(CASES[case])
        assert got is (state if format_ == "nagios" else code)


def test_a_mild_finding_is_a_warning_in_nagios_and_an_allowed_gap_is_nothing() -> None:
    def state(case: Report, **settings: bool) -> ExitCode | NagiosState:
        request = JudgeRequest(output=to_stdout("nagios"), **settings)  # type: ignore[arg-type]
        return msgspec.structs.replace(judging(), request=request).exit_code(case)

    mild = reports.report(results=[reports.nearly_full()])
    assert state(mild) is NagiosState.WARNING
    assert state(mild, exit_zero=True) is NagiosState.OK
    assert state(reports.report(results=[reports.open_server()])) is NagiosState.OK
    assert state(CASES["gap"], allow_gaps=True) is NagiosState.OK
