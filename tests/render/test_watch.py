"""What `jsdoctor watch` shows and posts."""

import json
from datetime import timedelta

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from jsdoctor.cli.watch.run import change_line, incident_text
from jsdoctor.engine.activity import AssetActivity
from jsdoctor.engine.watch import FindingChange, Watch, observe
from jsdoctor.model.finding import Severity
from jsdoctor.model.report import Report
from jsdoctor.render.incidents import first_command
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.watch.notification import Notification, body
from jsdoctor.render.watch.notification_format import NotificationFormat
from jsdoctor.render.watch.screen import screen
from jsdoctor.render.watch.view import Order, ScreenView
from tests.render import reports
from tests.render.golden import assert_golden

LATER = reports.STARTED + timedelta(seconds=95)
STUCK = reports.stuck(reports.consumer("billing"))


def moving(name: str, lag: tuple[int, ...]) -> AssetActivity:
    rates = tuple(float(abs(change)) for change in lag[1:])
    return AssetActivity(reports.consumer(name), reports.STARTED, 100, LATER, lag, rates, float(lag[-1] - lag[-2]))


def seen(*checks: Report) -> Watch:
    watch = Watch()
    for number, report in enumerate(checks):
        watch, _ = observe(watch, replace(report, finished=reports.STARTED + timedelta(seconds=30 * number)))
    return watch


def screen_state(report: Report, **changed: object) -> ScreenView:
    before = reports.report([reports.stuck(reports.consumer("shipping"))])
    shown = ScreenView(
        deployment="nats://n1.example:4222",
        now=LATER,
        every_s=10.0,
        watch=seen(before, report),
        report=report,
        activities=(moving("billing", (0, 10, 400, 5213)), moving("audit", (7, 3, 0))),
        next_check_s=4.2,
    )
    return replace(shown, **changed)


@pytest.mark.parametrize("width", [60, 100])
def test_looks_as_it_was_looked_at(width: int) -> None:
    assert_golden(
        f"watch-{width}.txt", screen(screen_state(reports.busy(), selected=1), 30, RenderOptions(width=width)) + "\n"
    )


@pytest.mark.parametrize("report", [reports.busy(), reports.clean(), reports.flood(300), reports.hostile()])
@pytest.mark.parametrize(("width", "height"), [(40, 8), (80, 24), (200, 60)])
def test_fits_the_terminal_and_harms_it_not(report: Report, width: int, height: int) -> None:
    text = incident_text(report.incidents[0], 1, RenderOptions(width=width)) if report.incidents else "nothing"
    for shown in (
        screen_state(report),
        screen_state(report, selected=299, problem="n1 is away"),
        screen_state(report, text=text, offset=1),
    ):
        for ascii_only in (False, True):
            written = screen(shown, height, RenderOptions(width=width, ascii_only=ascii_only))
            lines = written.split("\n")
            assert len(lines) <= height
            assert all(cell_len(line) <= width for line in lines)
            assert all(line.isprintable() for line in lines)
            assert not ascii_only or written.isascii()


@pytest.mark.parametrize("width", [100, 400])
def test_the_selected_incident_is_on_the_screen_and_so_is_what_to_type(width: int) -> None:
    """Below the table, or beside it with what follows from it."""
    report = reports.busy()
    for number, incident in enumerate(report.incidents):
        shown = screen(screen_state(report, selected=number), 24, RenderOptions(width=width))
        [marked] = [line for line in shown.splitlines() if line.startswith("> ")]
        assert incident.causes[0].rule.code in marked
        halves = [line.partition(" │ ")[2] or line.strip() for line in shown.splitlines()]
        assert any(half.startswith(f"→ {first_command(incident)[:80]}") for half in halves)
        if width == 400:
            for consequence in incident.consequences:
                assert any(half.startswith(f"explains {consequence.result.rule.code} ") for half in halves)


def test_incidents_are_sorted_by_the_column_that_is_selected() -> None:
    consumers = reports.consumer("shipping"), reports.consumer("audit", stream="BILLS")
    report = reports.report([reports.stuck(consumers[0]), reports.stuck(consumers[1], severity=Severity.WARNING)])
    before = reports.report([reports.stuck(consumers[0])])
    state = screen_state(report, watch=seen(before, report))

    def first(order: Order) -> str:
        shown = screen(replace(state, order=order), 24, RenderOptions(width=100))
        return next(line for line in shown.splitlines() if line.startswith("> "))

    assert "shipping" in first(Order.IMPACT), "an error before a warning"
    assert "audit" in first(Order.SINCE), "it appeared with the second check"
    assert "audit" in first(Order.WHERE)
    assert Order.WHERE.following is Order.IMPACT


def test_since_is_the_time_of_the_finding_and_at_least_that_of_the_baseline() -> None:
    began = reports.STARTED - timedelta(hours=2)
    dated = replace(STUCK, finding=replace(STUCK.finding, first_seen=began))
    for result, words in ((dated, " 2h2m  "), (STUCK, " >1m35s  ")):
        report = reports.report([result])
        shown = screen(screen_state(report, watch=seen(report)), 24, RenderOptions(width=200))
        [marked] = [line for line in shown.splitlines() if line.startswith("> ")]
        assert words in marked
        assert "Changes" not in shown, "the first check is the baseline"


def test_before_the_first_sample_and_without_a_report() -> None:
    first = ScreenView(deployment="", now=LATER, every_s=10.0)
    assert "first check · checking" in screen(first, 24, RenderOptions())
    shown = screen(replace(first, problem="n1 refused the connection", next_check_s=3.0), 24, RenderOptions())
    assert "no report: n1 refused the connection" in shown
    assert "next in 3s" in shown


def test_what_a_sample_could_not_see_is_not_called_resolved() -> None:
    blind = reports.report(verdicts=[reports.not_evaluated(STUCK.rule, "no consumer was seen", "log in")])
    shown = ScreenView(deployment="", now=LATER, every_s=10.0, watch=seen(reports.report([STUCK]), blind), report=blind)
    written = screen(shown, 24, RenderOptions(width=120))
    assert "not known to be resolved: JSD403 APP > ORDERS > billing" in written
    assert "resolved error" not in written


def notification(*checks: Report) -> Notification:
    watch, changes = Watch(), tuple[FindingChange, ...]()
    for number, report in enumerate(checks):
        watch, changes = observe(watch, replace(report, finished=reports.STARTED + timedelta(seconds=30 * number)))
    at = reports.STARTED + timedelta(seconds=30 * (len(checks) - 1))
    still = tuple((finding.result, finding.appeared) for finding in watch.open.values())
    return Notification("nats://n1.example:4222", at, 10.0, changes, still)


HEALTHY = reports.report(verdicts=reports.passed(STUCK.rule))


def test_json_body() -> None:
    sent = json.loads(body(notification(reports.report([STUCK])), NotificationFormat.JSON))
    assert (sent["schema"], sent["open"]) == ("jsdoctor.watch/v1", 1)
    [change] = sent["changes"]
    assert (change["change"], change["result"]["code"], change["since"]) == ("appeared", "JSD403", sent["at"])
    gone = json.loads(body(notification(reports.report([STUCK]), HEALTHY), NotificationFormat.JSON))
    assert (gone["open"], gone["changes"][0]["change"]) == (0, "resolved")
    assert gone["changes"][0]["since"] < gone["at"]
    again = reports.report([STUCK])
    assert body(notification(again, again), NotificationFormat.JSON) == "", "what is known is not sent again"


def test_slack_body_carries_no_markup_of_names() -> None:
    hostile = reports.stuck(reports.consumer("<!channel> & <http://x|y>\n*bold*"))
    text = json.loads(body(notification(reports.report([hostile])), NotificationFormat.SLACK))["text"]
    assert "<" not in text
    assert "&lt;!channel&gt; &amp; " in text
    assert text.count("\n") == 1
    many = reports.report([reports.stuck(reports.consumer(f"c{number}")) for number in range(50)])
    assert json.loads(body(notification(many), NotificationFormat.SLACK))["text"].splitlines()[-1] == "and 30 more"


def test_alerts_last_until_they_are_not_repeated_and_end_when_resolved() -> None:
    again = reports.report([STUCK])
    [alert] = json.loads(body(notification(again, again), NotificationFormat.ALERTMANAGER))
    assert alert["labels"] == {
        "alertname": f"jsdoctor_{STUCK.rule.slug}",
        "code": "JSD403",
        "deployment": "nats://n1.example:4222",
        "kind": "consumer",
        "account": "APP",
        "stream": "ORDERS",
        "name": "billing",
    }
    assert alert["startsAt"] < alert["endsAt"]
    [resolved] = json.loads(body(notification(again, HEALTHY), NotificationFormat.ALERTMANAGER))
    assert resolved["labels"] == alert["labels"]
    assert resolved["endsAt"] == "2025-03-09T03:04:35.120000Z"
    assert body(notification(HEALTHY), NotificationFormat.ALERTMANAGER) == ""


def test_a_check_without_a_report_is_an_alert_beside_what_was_open() -> None:
    blind = replace(notification(reports.report([STUCK])), problem="no server responded", changes=())
    still, alert = json.loads(body(blind, NotificationFormat.ALERTMANAGER))
    assert still["labels"]["code"] == "JSD403"
    assert (alert["labels"]["alertname"], alert["annotations"]["summary"]) == (
        "jsdoctor_no_report",
        "no report: no server responded",
    )
    assert body(blind, NotificationFormat.JSON) == ""


def test_a_line_for_each_change() -> None:
    def line(*checks: Report) -> str:
        return change_line(notification(*checks).changes[0], RenderOptions(width=40))

    appeared = line(reports.report([STUCK]))
    assert appeared.startswith("2025-03-09 03:04:05Z appeared error JSD403 APP > ORDERS > billing: 1,000 of 1,000")
    assert appeared.count("\n") == 1
    assert line(reports.report([STUCK]), HEALTHY) == (
        "2025-03-09 03:04:35Z resolved error JSD403 APP > ORDERS > billing: after 30s\n"
    )
