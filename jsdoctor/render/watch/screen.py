"""The full screen of `jsdoctor watch`: verdict, incidents, what moves, what changed. It always fits the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jsdoctor.engine.activity import AssetActivity
from jsdoctor.engine.watch import ChangeKind, FindingChange
from jsdoctor.model.report import Incident
from jsdoctor.model.wording import count, span
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.incidents import first_command, summary
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page, Part
from jsdoctor.render.units import rate
from jsdoctor.render.watch.sparkline import sparkline
from jsdoctor.render.watch.view import ScreenView
from jsdoctor.render.wording import to_the_second

_MIN_HEIGHT = 8
_BARS = 20
_TITLE_LINES = 2
_KEYS = "q quit · p pause · r check now · up/down · enter details · e explain · s save"
_TEXT_KEYS = "up/down scroll · esc back · q quit"

CHANGE_STYLES = {
    ChangeKind.APPEARED: "red",
    ChangeKind.WORSENED: "bold red",
    ChangeKind.RESOLVED: "green",
}

Line = tuple[Part, ...]


def screen(view: ScreenView, height: int, options: RenderOptions) -> str:
    """At most `height` lines of at most `options.width` columns, with colours where the options allow them."""
    room = max(height, _MIN_HEIGHT)
    head = [*_head(view), ()]
    foot: list[Line] = [((view.notice or (_TEXT_KEYS if view.text is not None else _KEYS), "dim"),)]
    if not view.keys and not view.notice:
        foot = []
    body = _text(view) if view.text is not None else _lists(view, room - len(head) - len(foot), options)
    lines = [*head, *body][: room - len(foot)]
    lines += [()] * (room - len(foot) - len(lines)) if foot else []
    page = Page(options)
    for line in (*lines, *foot)[:height]:
        page.cut(*line)
    return page.text().removesuffix("\n")


def text_height(height: int) -> int:
    """How many lines of a text the screen shows at once."""
    return max(height, _MIN_HEIGHT) - 4


def _head(view: ScreenView) -> list[Line]:
    looked = f"check {view.watch.reports}" if view.watch.reports else "first check"
    when = (
        "checking"
        if view.next_check_s is None
        else "paused"
        if view.paused
        else f"next in {max(view.next_check_s, 0):.0f}s"
    )
    parts = ("jsdoctor watch", to_the_second(view.now), looked, when, view.deployment)  # long names last: lines are cut
    lines: list[Line] = [(" · ".join(parts),)]
    if view.problem:
        lines.append((("no report: ", "bold yellow"), view.problem))
    if view.report is not None:
        failures = view.report.failures()
        worst = max((result.severity for result in failures), key=lambda item: item.rank, default=None)
        style = SEVERITY_STYLES[worst] if worst else "bold"
        lines.append(((verdict_sentence(view.report), style if not view.problem else "dim"),))
    return lines


def _text(view: ScreenView) -> list[Line]:
    return [(line,) for line in (view.text or "").splitlines()[view.offset :]]


def _lists(view: ScreenView, room: int, options: RenderOptions) -> list[Line]:
    """Incidents get what they need up to half; changes and what moves share the rest, and neither wastes any."""
    incidents = list(_incidents(view))
    shown = _around(incidents, view.selected * 2, max(room // 2, 3))
    unjudged = [finding.result for finding in view.watch.open.values() if not finding.judged]
    if unjudged:
        codes = ", ".join(dict.fromkeys(f"{item.rule.code} {item.finding.subject.label}" for item in unjudged))
        shown = [*shown, (("not seen in this check, and not known to be resolved: ", "dim"), codes)]
    rest = max(room - len(shown), 0)
    changes = [_change(change) for change in reversed(view.watch.changes)]
    wanted = len(changes) + _TITLE_LINES if changes else 0
    moving = _titled(
        "What moves", [_activity(activity, options) for activity in view.activities], rest - min(wanted, rest // 2)
    )
    return [*shown, *moving, *_titled("Changes", changes, rest - len(moving))]


def _around(lines: list[Line], at: int, room: int) -> list[Line]:
    """The part of the lines with the selected one in it."""
    start = min(max(at - room // 2, 0), max(len(lines) - room, 0))
    return lines[start : start + room]


def _titled(title: str, lines: list[Line], room: int) -> list[Line]:
    return [(), ((title, "bold"),), *lines[: room - _TITLE_LINES]] if lines and room > _TITLE_LINES else []


def _incidents(view: ScreenView) -> Iterator[Line]:
    for number, incident in enumerate(view.incidents):
        selected = view.keys and incident is view.selected_incident
        mark = (("> ", "bold") if selected else "  ",)
        style = SEVERITY_STYLES[incident.severity]
        yield (*mark, (incident.severity.value, style), f" {_since(view, incident)} {number + 1}. {summary(incident)}")
        yield ("    → ", (first_command(incident), "dim"))


def _since(view: ScreenView, incident: Incident) -> str:
    """How long the oldest finding of an incident has been seen by this watch."""
    open_ = (view.watch.open.get(result.fingerprint) for result in incident.results)
    began = min((finding.appeared for finding in open_ if finding is not None), default=view.now)
    return f"for {_elapsed(began, view.now)}"


def _change(change: FindingChange) -> Line:
    finding = change.result.finding
    after = f", after {_elapsed(change.appeared, change.at)}" if change.kind is ChangeKind.RESOLVED else ""
    return (
        f"  {to_the_second(change.at)[11:]} ",
        (change.kind.value, CHANGE_STYLES[change.kind]),
        f" {change.result.severity.value} {change.result.rule.code} {finding.subject.label}{after}",
    )


def _activity(activity: AssetActivity, options: RenderOptions) -> Line:
    kind = "lag" if activity.lag else "stored"
    values = activity.lag or activity.rates
    bars = sparkline(values, _BARS, options.ascii_only).ljust(_BARS)
    now = count(activity.lag[-1]) if activity.lag else ""
    speed = rate(round(activity.rates[-1], 1)) if activity.rates else ""
    what = " ".join(part for part in (kind, now, f"({speed})" if speed and now else speed) if part)
    return (f"  {bars} {what:<22.40} ", (activity.subject.label, "bold"))


def _elapsed(since: datetime, now: datetime) -> str:
    return span(max(round((now - since).total_seconds()), 0) * 1e9)
