"""The full screen of `jsdoctor watch`: verdict, incidents, what moves, what changed. It always fits the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jsdoctor.engine.activity import AssetActivity
from jsdoctor.engine.watch import ChangeKind, FindingChange
from jsdoctor.model.report import Incident
from jsdoctor.model.wording import count, counted, span
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.incidents import first_command, names_of
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page, Part
from jsdoctor.render.watch.sparkline import sparkline
from jsdoctor.render.watch.view import ScreenView
from jsdoctor.render.wording import rate, to_the_second

_MIN_HEIGHT = 8
_BARS = 20
_TITLE_LINES = 2
_WHERE_SHARE = 3
_KEYS = "? help · / filter · q quit · p pause · enter details · e explain · s save"
_TEXT_KEYS = "up/down scroll · esc back · q quit"
HELP = """\
up, down, k, j   select an incident, or scroll a text
enter, d         the selected incident in full, with evidence and fix
e                the page of its rule
esc              back to the lists
r                check now
p, space         pause, resume
s                save a bundle in the current directory
/                filter incidents by words; enter keeps the filter, esc ends it
?                this help
q                quit

since            when a finding began, as far as its evidence shows it; > where it began before the first check
lag              messages not yet delivered or acknowledged, and by how many they grow a second
"""

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
    if view.typing or (view.filter and view.text is None):
        foot = [(("/", "bold"), view.filter, ("_" if view.typing else "  esc ends the filter", "dim"))]
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
        if view.report.headline:
            lines.append(((view.report.headline, "dim"),))
        failures = view.report.failures()
        worst = max((result.severity for result in failures), key=lambda item: item.rank, default=None)
        style = SEVERITY_STYLES[worst] if worst else "bold"
        lines.append(((verdict_sentence(view.report), style if not view.problem else "dim"),))
    return lines


def _text(view: ScreenView) -> list[Line]:
    return [(line,) for line in (view.text or "").splitlines()[view.offset :]]


def _lists(view: ScreenView, room: int, options: RenderOptions) -> list[Line]:
    """Incidents get what they need up to half; changes and what moves share the rest, and neither wastes any."""
    incidents = list(_incidents(view, options))
    detail = [*_selected(view)]
    shown = [*incidents[:1], *_around(incidents[1:], view.selected, max(room // 2 - len(detail), 2)), *detail]
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


def _incidents(view: ScreenView, options: RenderOptions) -> Iterator[Line]:
    """A table: severity, since, where, what."""
    wheres = [names_of(incident.causes) for incident in view.incidents]
    width = min(max(map(len, wheres), default=0), options.width // _WHERE_SHARE)
    if wheres:
        yield ((f"  {'severity':<9}{'since':>8}  {'where':<{width}}  what", "dim"),)
    for where, incident in zip(wheres, view.incidents, strict=True):
        cause = incident.causes[0]
        cut = where if len(where) <= width else f"{where[: width - 1]}…"
        yield (
            ("> ", "bold") if view.keys and incident is view.selected_incident else "  ",
            (incident.severity.value, SEVERITY_STYLES[incident.severity]),
            " " * (9 - len(incident.severity.value)),
            (f"{_since(view, incident):>8}  ", "dim"),
            f"{cut:<{width}}  {cause.rule.code} {cause.finding.message or cause.rule.title}",
        )


def _selected(view: ScreenView) -> Iterator[Line]:
    """The selected incident below the table: what to type first, and what follows from it."""
    incident = view.selected_incident
    if incident is None:
        return
    following = len(incident.consequences)
    more = f", explains {counted(following, 'finding')}" if following else ""
    yield ()
    yield ((f"{incident.causes[0].rule.code} {names_of(incident.causes, 2)}{more}", "bold"),)
    yield ("  → ", (first_command(incident), "dim"))


def _since(view: ScreenView, incident: Incident) -> str:
    """How long its oldest finding has been there; `>` where it began before the first check."""
    known = (view.watch.open.get(result.fingerprint) for result in incident.results)
    oldest = min((finding for finding in known if finding), key=lambda finding: finding.appeared, default=None)
    return ">" * (oldest is not None and oldest.older) + _elapsed(oldest.appeared if oldest else view.now, view.now)


def _change(change: FindingChange) -> Line:
    finding = change.result.finding
    after = f", after {_elapsed(change.appeared, change.at)}" if change.kind is ChangeKind.RESOLVED else ""
    return (
        f"  {to_the_second(change.at)[11:]} ",
        (change.kind.value, CHANGE_STYLES[change.kind]),
        f" {change.result.severity.value} {change.result.rule.code} {finding.subject.label}{after}",
    )


def _activity(activity: AssetActivity, options: RenderOptions) -> Line:
    bars = sparkline(activity.lag or activity.rates, _BARS, options.ascii_only).ljust(_BARS)
    speed = rate(round(activity.rates[-1], 1)) if activity.rates else ""
    lag = ""
    if activity.lag:
        growth = round(activity.lag_rate, 1)
        lag = f"lag {count(activity.lag[-1])}" + (f" ({'+' if growth >= 0 else ''}{rate(growth)})" if speed else "")
    done = f"{'delivered' if activity.lag else 'stored'} {speed}" if speed else ""
    return (f"  {bars} {lag:<22} ", (activity.subject.label, "bold"), f"  {done}")


def _elapsed(since: datetime, now: datetime) -> str:
    return span(max(round((now - since).total_seconds()), 0) * 1e9)
