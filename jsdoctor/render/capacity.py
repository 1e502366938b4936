"""Space for a person, in tables of 80 columns, and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from jsdoctor.model.capacity import (
    OLDEST_GO,
    SCHEMA,
    Capacity,
    CapacityReport,
    Due,
    Figure,
    Space,
    StreamGrowth,
    StreamRoom,
)
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.wording import counted, joined, listed, span
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.wording import quantity, rfc3339, size, to_the_second

_STREAMS_SHOWN = 10
_SOONEST_SHOWN = 5
_NAMES_SHOWN = 3
_DAY_S = 86_400
_READINGS_OF_ONE_RATE = 2
"""Two readings have one rate between them, and no range of rates."""
_MIN_FORECAST_S = 3_600
"""Rates of less than an hour say nothing about days."""


def render_capacity(report: CapacityReport, options: RenderOptions) -> str:
    """The report as text: room for new streams if requested, tables, growth, head-room, gaps, the verdict."""
    page, result = Page(options), report.result
    for room in result.room:
        _write_room(page, room)
    for storage, title in (("file", "File storage"), ("memory", "Memory storage")):
        spaces = [space for space in result.spaces if space.storage == storage]
        if spaces:
            _write_title(page, title)
            _write_table(page, [(space.subject.label, space.figures) for space in spaces], options.verbose)
            for text in (words for space in spaces for words in space.words):
                page.line(f"{text}.", indent=2)
    if result.streams:
        _write_growth(page, result, options)
    if not options.quiet:
        _write_headroom(page, result, options.verbose)
        _write_unseen(page, result, options)
    _write_verdict(page, result)
    return page.text()


def _write_verdict(page: Page, result: Capacity) -> None:
    """What refuses messages first, as one sentence."""
    holders: tuple[Space | StreamGrowth, ...] = (*result.spaces, *result.streams)
    dues = [(each.subject.label, due) for each in holders for due in each.due]
    full = [(label, due) for label, due in dues if due.limit != "max_age" and due.then != OLDEST_GO]
    if holders:
        page.blank()
    if full:
        label, due = min(full, key=lambda named: named[1].earliest)
        page.line((f"The first limit that refuses messages: {due.limit} of {label}, {_time_to_limit(due)}.", "bold"))
    elif any(stream.rate is not None for stream in result.streams):
        page.line(("Nothing grows towards a limit that refuses messages.", "bold"))


def _write_title(page: Page, text: str) -> None:
    if page.text():
        page.blank()
    page.line((text, "bold"))


def _figure_text(figure: Figure) -> str:
    return "-" if figure.value is None else quantity(figure.value, figure.unit)


def _write_table(page: Page, rows: Sequence[tuple[str, Sequence[Figure]]], verbose: int) -> None:
    """A row for each subject, or a line for each figure if it is too narrow; with `-v` the reply of each column."""
    names = list(dict.fromkeys(figure.name for _, figures in rows for figure in figures))
    cells = [[label, *(_cell(figures, name) for name in names)] for label, figures in rows]
    columns = [["", *names], *cells]
    widths = [max(len(row[place]) for row in columns) for place in range(len(names) + 1)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in columns
    ]
    if all(page.fits(line, indent=2) for line in lines):
        for line in lines:
            page.line(line, indent=2)
    else:
        for label, figures in rows:
            page.line((label, "bold"), indent=2)
            for figure in figures:
                page.line(f"{figure.name}: {_figure_text(figure)}", indent=4)
    for name in names if verbose else ():
        replies = dict.fromkeys(
            f.reply for _, figures in rows for f in figures if f.name == name and f.value is not None
        )
        if replies:
            page.line((f"{name}: {'; '.join(replies)}", "dim"), indent=2)
    if any(figure.value is None for _, figures in rows for figure in figures):
        page.line(("-: there is none, or it was not seen", "dim"), indent=2)


def _cell(figures: Iterable[Figure], name: str) -> str:
    return next((_figure_text(figure) for figure in figures if figure.name == name), "")


def _write_growth(page: Page, result: Capacity, options: RenderOptions) -> None:
    soonest = sorted(
        (s for s in result.streams[_STREAMS_SHOWN:] if s.due), key=lambda s: min(d.earliest for d in s.due)
    )
    shown = result.streams if options.verbose else (*result.streams[:_STREAMS_SHOWN], *soonest[:_SOONEST_SHOWN])
    measured = max(result.streams, key=lambda stream: stream.span_s)
    rest = len(result.streams) - len(shown)
    _write_title(
        page, f"The largest {'streams' if len(shown) > 1 else 'stream'}" + (f" ({rest:,} more: -v)" if rest else "")
    )
    if measured.rate is not None:
        brief = "; a look that short is no forecast of days" if measured.span_s < _MIN_FORECAST_S else ""
        seen = f"{counted(measured.readings, 'reading')} within {span(measured.span_s * 1e9)}"
        page.line(f"Growth is at the rates between {seen}{brief}.", indent=2)
    for stream in shown:
        page.line(
            (stream.subject.label, "bold"), f": {size(stream.bytes)}{_copies(stream)}, {_growth_text(stream)}", indent=2
        )
        for due in stream.due:
            page.line(_due_text(due, stream.readings), indent=4)
    of_holders = [(space, due) for space in result.spaces for due in space.due]
    if of_holders:
        _write_title(page, "Limits of servers and accounts, as streams grow until their own limits")
    for space, due in of_holders:
        page.line((space.subject.label, "bold"), f": {_due_text(due, measured.readings)}", indent=2)


def _write_headroom(page: Page, result: Capacity, verbose: int) -> None:
    for kind, title in (("server", "Head-room of servers"), ("stream", "Streams with the most consumers")):
        rows = [(each.subject.label, each.figures) for each in result.headroom if each.subject.kind == kind]
        if rows:
            _write_title(page, title)
            _write_table(page, rows, verbose)


def _write_unseen(page: Page, result: Capacity, options: RenderOptions) -> None:
    """One line for each thing that was not seen, with all it was not seen of."""
    gaps: dict[tuple[str, str], list[str]] = {}
    for gap in sorted(result.unseen, key=lambda gap: not gap.requested):
        gaps.setdefault((gap.reason, gap.how_to_get), []).append("" if gap.subject == CLUSTER else gap.subject.label)
    if gaps:
        page.blank()
    for (reason, how), labels in gaps.items():
        whose = f"{listed(labels, 0 if options.verbose else _NAMES_SHOWN)}: " if any(labels) else ""
        page.line(f"Not seen: {whose}{reason}. {how}")


def _copies(stream: StreamGrowth) -> str:
    return f" on each of {stream.copies} servers" if (stream.copies or 1) > 1 else ""


def _growth_text(stream: StreamGrowth) -> str:
    if stream.rate is None:
        return "read once: its growth does not show"
    if stream.rate.low == stream.rate.high == 0:
        return f"no growth in {span(stream.span_s * 1e9)}"
    low, mean, high = (size(each * _DAY_S) for each in (stream.rate.low, stream.rate.mean, stream.rate.high))
    if stream.readings <= _READINGS_OF_ONE_RATE:
        return f"{mean} a day, from one interval: no range"
    return f"{mean} a day" + ("" if low == mean == high else f" ({low} to {high})")


def _due_text(due: Due, readings: int) -> str:
    """`max_bytes (1 GiB) in 2d3h (1d20h to 2d8h), on 2026-11-30 20:32Z: then the oldest messages go`."""
    value = size(due.value) if due.unit == "bytes" else f"{due.value:,} {due.unit}"
    moment = due.expected or due.earliest
    on = f"{to_the_second(moment)[:16]}Z"
    if due.limit == "max_age":
        return f"max_age in {_time_until(due, moment)}, on {on}, with about {value}: {due.then}"
    if due.expected is None:
        return (
            f"{due.limit} ({value}) in {_time_until(due, due.earliest)} at the earliest, on {on}, or never: {due.then}"
        )
    between = _range_text(due) if readings > _READINGS_OF_ONE_RATE else ""
    return f"{due.limit} ({value}) in {_time_until(due, moment)}{between}, on {on}: {due.then}"


def _range_text(due: Due) -> str:
    earliest, latest = _time_until(due, due.earliest), _time_until(due, due.latest) if due.latest else "never"
    return "" if earliest == latest else f" ({earliest} to {latest})"


def _time_to_limit(due: Due) -> str:
    return (
        f"in {_time_until(due, due.expected)}"
        if due.expected
        else f"in {_time_until(due, due.earliest)} at the earliest, or never"
    )


def _time_until(due: Due, moment: datetime) -> str:
    return span((moment - due.at).total_seconds() * 1e9)


def _write_room(page: Page, room: StreamRoom) -> None:
    what = counted(room.streams, "more stream") if room.streams > 1 else "one more stream"
    wanted = f"{what} with R{room.replicas} and max_bytes {room.size:,} ({size(room.size)})"
    wanted += f" in {room.storage}" if room.storage != "file" else ""
    wanted += f" on servers with {joined(room.tags)}" if room.tags else ""
    place = f" in {'account ' if room.is_account else ''}{room.place}" if room.place else ""
    verdict = {True: "Room for", False: "No room for", None: "Undecided: room for"}[room.has_all]
    some = f": {room.fit:,} of them" if room.fit and not room.has_all else ""
    page.line((f"{verdict} {wanted}{place}{some}", "bold"), f"; {room.why}." if room.why else ".")
    for fit in room.servers:
        word = "yes" if fit.streams >= room.streams else f"for {fit.streams:,}" if fit.streams else "no"
        page.line(f"{fit.server}: {word}, {size(fit.left)} left{f'; {fit.why}' if fit.why else ''}", indent=2)


def render_capacity_json(report: CapacityReport, options: RenderOptions) -> str:
    """One JSON object and a newline."""
    document = {"schema": SCHEMA, "jsdoctor": report.version, "started": rfc3339(report.started)}
    return dumps({**document, "headline": report.headline, **msgspec.to_builtins(report.result)}, options.ascii_only)
