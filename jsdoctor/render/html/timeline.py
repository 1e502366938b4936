"""The timeline as data for the page's script, and as a table for those who read without it."""

from __future__ import annotations

import msgspec
from markupsafe import Markup

from jsdoctor.model.picture import Line, Timeline, TimelineEvent
from jsdoctor.render.escape import printable, shortened
from jsdoctor.render.json_text import compact

_ROWS_SHOWN = 300
_LABEL_CHARACTERS = 240


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the table. Times are microseconds since 1970."""

    lane: str
    label: str
    severity: str
    start_us: int
    end_us: int
    open: bool
    count: int
    bound: str
    place: str


class _Places:
    """Lines of logs, each once: many events refer to the same."""

    def __init__(self) -> None:
        self.lines: list[list[object]] = []
        self._numbers: dict[Line, int] = {}

    def number(self, line: Line) -> int:
        """Where the line stands in `lines`."""
        if line not in self._numbers:
            self._numbers[line] = len(self.lines)
            self.lines.append([printable(line.file), line.line, line.offset, printable(shortened(line.text, 300))])
        return self._numbers[line]


def timeline_json(timeline: Timeline) -> Markup:
    """The data, safe inside of a script element: no `<` can end it."""
    places = _Places()
    document = {
        "lanes": [
            {
                "kind": lane.kind,
                "name": printable(shortened(lane.name, 120)),
                "clock": printable(lane.clock),
                "leftOut": lane.left_out,
                "events": [_event(event, places) for event in lane.events],
            }
            for lane in timeline.lanes
        ],
        "lines": places.lines,
    }
    return Markup(compact(document).replace("<", "\\u003c").strip())  # noqa: S704 - JSON without markup


def event_rows(timeline: Timeline) -> list[EventRow]:
    """The most severe events in the order of time."""
    every = [(lane.name, event) for lane in timeline.lanes for event in lane.events if event.kind != "run"]
    every.sort(key=lambda item: -(item[1].severity.rank + 1 if item[1].severity else 0))
    shown = sorted(every[:_ROWS_SHOWN], key=lambda item: item[1].start_us)
    return [_row(name, event) for name, event in shown]


def _event(event: TimelineEvent, places: _Places) -> dict[str, object]:
    return {
        "k": event.kind,
        "l": printable(shortened(event.label, _LABEL_CHARACTERS)),
        "s": event.start_us,
        "e": event.end_us,
        **({"o": 1} if event.open else {}),
        **({"n": event.count} if event.count != 1 else {}),
        **({"v": event.severity.value} if event.severity else {}),
        **({"c": event.code} if event.code else {}),
        **({"b": event.bound_us} if event.bound_us is not None else {}),
        **({"x": [places.number(line) for line in event.lines]} if event.lines else {}),
    }


def _row(lane: str, event: TimelineEvent) -> EventRow:
    line = event.lines[0] if event.lines else None
    return EventRow(
        lane=lane,
        label=event.label,
        severity=event.severity.value if event.severity else "",
        start_us=event.start_us,
        end_us=event.end_us,
        open=event.open,
        count=event.count,
        bound="" if event.bound_us is None else f"± {event.bound_us / 1000:,.1f} ms",
        place=f"{line.file}:{line.line}, byte {line.offset:,}" if line else "",
    )
