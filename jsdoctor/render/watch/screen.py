"""The full screen of `jsdoctor watch`: verdict, incidents, what moves, what changed. It always fits the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import zip_longest
from textwrap import wrap
from typing import NamedTuple

from jsdoctor.engine.activity import AssetActivity
from jsdoctor.engine.watch import ChangeKind, FindingChange
from jsdoctor.model.report import Incident
from jsdoctor.model.wording import count, counted, span
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.incidents import blocks, first_command, names_of
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page, Part
from jsdoctor.render.watch.sparkline import sparkline
from jsdoctor.render.watch.view import Order, ScreenView
from jsdoctor.render.wording import rate, to_the_second

_MIN_HEIGHT = 8
_BARS = 20
_TITLE_LINES = 2
_SEVERITY_COLUMNS = 9
_SINCE_COLUMNS = 8
_WHERE_SHARE = 3
_BESIDE_WIDTH = 110
"""From how many columns on the selected incident stands beside the table, in two fifths of them; else below it."""
_RULE = " │ "
_KEYS = "? help · / filter · o order · q quit · p pause · enter more · e explain · s save"
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
o                sort incidents by impact, by since (the newest first), by where
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


class Beside(NamedTuple):
    """Two halves of a line; the left one is `width` columns wide."""

    left: Line
    right: Line
    width: int


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
    lines: list[Line | Beside] = [*head, *body][: room - len(foot)]
    lines += [()] * (room - len(foot) - len(lines)) if foot else []
    page = Page(options)
    for line in (*lines, *foot)[:height]:
        if isinstance(line, Beside):
            page.beside(*line)
        else:
            page.cut(*line)
    return page.text().removesuffix("\n")


def text_height(view: ScreenView, height: int) -> int:
    """How many lines of a text the screen shows at once, between its head and the line of keys."""
    return max(max(height, _MIN_HEIGHT) - len(_head(view)) - 2, 1)


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


def _lists(view: ScreenView, room: int, options: RenderOptions) -> list[Line | Beside]:
    """Incidents get what they need up to half; changes and what moves share the rest, and neither wastes any."""
    shown = _with_selected(view, max(room // 2, 2), options)
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


def _with_selected(view: ScreenView, room: int, options: RenderOptions) -> list[Line | Beside]:
    """The table of incidents, and the selected one beside it where the terminal is wide, else below it."""
    if options.width < _BESIDE_WIDTH:
        incidents, detail = list(_incidents(view, options.width)), list(_selected(view))
        return [*incidents[:1], *_around(incidents[1:], view.selected, max(room - len(detail), 2)), *detail]
    width = options.width * 3 // 5
    incidents = list(_incidents(view, width))
    table = [*incidents[:1], *_around(incidents[1:], view.selected, room - 1)]
    detail = list(_explained(view, options.width - width - len(_RULE)))[: room if incidents else 0]
    return [
        Beside(left, ((_RULE, "dim"), *right), width) for left, right in zip_longest(table, detail, fillvalue=Line())
    ]


def _around(lines: list[Line], at: int, room: int) -> list[Line]:
    """The part of the lines with the selected one in it."""
    start = min(max(at - room // 2, 0), max(len(lines) - room, 0))
    return lines[start : start + room]


def _titled(title: str, lines: list[Line], room: int) -> list[Line]:
    return [(), ((title, "bold"),), *lines[: room - _TITLE_LINES]] if lines and room > _TITLE_LINES else []


def _incidents(view: ScreenView, columns: int) -> Iterator[Line]:
    """A table: severity, since, where, what. The title of the column that it is sorted by is bold."""
    wheres = [names_of(incident.causes) for incident in view.incidents]
    width = min(max(map(len, wheres), default=0), columns // _WHERE_SHARE)
    titles = {
        Order.IMPACT: f"  {'severity':<{_SEVERITY_COLUMNS}}",
        Order.SINCE: f"{'since':>{_SINCE_COLUMNS}}  ",
        Order.WHERE: f"{'where':<{width}}  ",
    }
    if wheres:
        yield (*((title, "bold" if order is view.order else "dim") for order, title in titles.items()), ("what", "dim"))
    for where, incident in zip(wheres, view.incidents, strict=True):
        cause = incident.causes[0]
        cut = where if len(where) <= width else f"{where[: width - 1]}…"
        yield (
            ("> ", "bold") if view.keys and incident is view.selected_incident else "  ",
            (incident.severity.value, SEVERITY_STYLES[incident.severity]),
            " " * (_SEVERITY_COLUMNS - len(incident.severity.value)),
            (f"{_since(view, incident):>{_SINCE_COLUMNS}}  ", "dim"),
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


def _explained(view: ScreenView, columns: int) -> Iterator[Line]:
    """The selected incident beside the table: its cause, what follows from it, what to type first."""
    incident = view.selected_incident
    if incident is None:
        return
    _, *consequences = blocks(incident)
    first = incident.causes[0]
    yield ((f"{first.rule.code} {names_of(incident.causes, 2)}", "bold"),)
    yield from _wrapped(first.finding.message or first.rule.title, columns)
    for group in consequences:
        rule = group.results[0].rule
        yield from _wrapped(f"explains {rule.code} {names_of(group.results, 2)}: {rule.title}", columns, "dim")
    yield from _wrapped(f"→ {first_command(incident)}", columns, "bold")


def _wrapped(text: str, columns: int, style: str = "") -> Iterator[Line]:
    return (((line, style),) for line in wrap(text, columns, subsequent_indent="  ", break_on_hyphens=False))


def _since(view: ScreenView, incident: Incident) -> str:
    """How long its oldest finding has been there; `>` where it began before the first check."""
    oldest = view.oldest(incident)
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
