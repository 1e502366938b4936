"""What a run returns, as an exit code and as the state of a Nagios plugin."""

from typing import Any

import pytest

from jsdoctor.engine.verdict import ExitCode, NagiosState, exit_code, nagios_state
from jsdoctor.model.finding import CLUSTER, Severity
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Report
from tests.render import reports

OFFERED = Gap("server", CLUSTER, "this login sees no servers", "use the system account", requested=False)
ASKED, UNSEEN = reports.silent_gap("ORDERS")
CRASH = reports.crashed(reports.CLOCK)
STUCK = reports.stuck(reports.consumer("billing"))
"""An error; `nearly_full` is a warning, `open_server` an info."""


def test_one_requested_gap_among_others_makes_a_run_inconclusive() -> None:
    healthy = reports.report(gaps=[OFFERED, ASKED], verdicts=reports.passed(reports.CLOCK))
    assert exit_code(healthy, Severity.ERROR) is ExitCode.INCONCLUSIVE
    assert exit_code(healthy, Severity.ERROR, allow_gaps=True) is ExitCode.OK
    assert nagios_state(healthy, Severity.ERROR) is NagiosState.UNKNOWN
    assert nagios_state(healthy, Severity.ERROR, allow_gaps=True) is NagiosState.OK


@pytest.mark.parametrize(
    ("report", "options", "state"),
    [
        (reports.report(verdicts=reports.passed(reports.CLOCK)), {}, NagiosState.OK),
        (reports.report([STUCK, reports.open_server()]), {}, NagiosState.CRITICAL),
        (reports.report([STUCK]), {"fail_on": Severity.CRITICAL}, NagiosState.WARNING),
        (reports.report([reports.nearly_full(), reports.open_server()]), {}, NagiosState.WARNING),
        (reports.report([reports.nearly_full()]), {"fail_on": Severity.WARNING}, NagiosState.CRITICAL),
        (reports.report([reports.open_server()]), {}, NagiosState.OK),
        (reports.report([STUCK]), {"exit_zero": True}, NagiosState.OK),
        (reports.report([reports.nearly_full()]), {"exit_zero": True}, NagiosState.OK),
    ],
)
def test_findings_as_a_nagios_state(report: Report, options: dict[str, Any], state: NagiosState) -> None:
    assert nagios_state(report, **{"fail_on": Severity.ERROR, **options}) is state


@pytest.mark.parametrize("exit_zero", [False, True])
def test_a_crashed_check_hides_no_alert_and_is_unknown_without_one(exit_zero: bool) -> None:
    mild = reports.report([CRASH, reports.nearly_full()])
    assert nagios_state(mild, Severity.ERROR, exit_zero, allow_gaps=True) is NagiosState.UNKNOWN
    severe = nagios_state(reports.report([CRASH, STUCK]), Severity.ERROR, exit_zero)
    assert severe is (NagiosState.UNKNOWN if exit_zero else NagiosState.CRITICAL)


def test_the_finding_that_only_reports_a_gap_is_no_warning_where_gaps_are_allowed() -> None:
    incomplete = reports.report([UNSEEN], gaps=[ASKED])
    assert nagios_state(incomplete, Severity.ERROR) is NagiosState.UNKNOWN
    assert nagios_state(incomplete, Severity.ERROR, allow_gaps=True) is NagiosState.OK
    assert nagios_state(reports.report([UNSEEN]), Severity.ERROR) is NagiosState.WARNING
    full = reports.report([UNSEEN, reports.nearly_full()], gaps=[ASKED])
    assert nagios_state(full, Severity.ERROR, allow_gaps=True) is NagiosState.WARNING
