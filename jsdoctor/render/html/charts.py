"""The charts of the HTML report as numbers: where each line, bar and label goes. The templates draw them as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import msgspec

from jsdoctor.model.picture import (
    AckLatency,
    ChartSeries,
    ClockOffset,
    CopyPlacement,
    Edge,
    Leader,
    Node,
    Picture,
    Usage,
)
from jsdoctor.model.wording import span
from jsdoctor.render.wording import quantity, share, to_the_second_us

_MIN_POINTS = 5
"""Fewer points are no curve: the findings have the values."""
_STREAMS_SHOWN = 12
_HIGH, _FULL = 0.8, 0.95
_COLOURS = 6
"""How many colours the style sheet has for leaders."""

WIDTH, HEIGHT = 560, 180
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 14, 24


class Curve(msgspec.Struct, frozen=True):
    """One series: its path, the area below it, its projection, and its newest value as text."""

    number: int
    name: str
    path: str
    projected: str
    newest: str


class LineChart(msgspec.Struct, frozen=True, kw_only=True):
    """Several series on one pair of axes. `grid` holds heights with their labels, `times` places with theirs."""

    title: str
    note: str
    curves: tuple[Curve, ...]
    grid: tuple[tuple[float, str], ...]
    times: tuple[tuple[float, str, str], ...]
    limit: float | None = None
    limit_label: str = ""


class Bar(msgspec.Struct, frozen=True):
    """A share of a limit. `width` is in percent."""

    name: str
    what: str
    width: float
    grade: str
    label: str


class Whisker(msgspec.Struct, frozen=True):
    """An offset between two bounds, as places from 0 to 100."""

    name: str
    against: str
    low: float
    middle: float
    high: float
    label: str


class QuantileBar(msgspec.Struct, frozen=True):
    """Durations from the median to the 99th percentile, as places from 0 to 100 on a logarithmic axis."""

    name: str
    middle: float
    high: float
    label: str


class Band(msgspec.Struct, frozen=True):
    """Who led a group over one span, as places from 0 to 100."""

    start: float
    width: float
    server: str
    number: int
    label: str


class ClusterPicture(msgspec.Struct, frozen=True):
    """The servers of one cluster."""

    name: str
    nodes: tuple[Node, ...]


class CopyTable(msgspec.Struct, frozen=True):
    """Streams by servers: with each stream the state of its copy on each server, empty where it has none."""

    servers: tuple[str, ...]
    rows: tuple[tuple[CopyPlacement, tuple[str, ...]], ...]
    left_out: int


class Charts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything below the timeline. Empty parts are not drawn."""

    lines: tuple[LineChart, ...]
    bars: tuple[Bar, ...]
    whiskers: tuple[Whisker, ...]
    spreads: tuple[QuantileBar, ...]
    leaders: tuple[tuple[str, tuple[Band, ...]], ...]
    clusters: tuple[ClusterPicture, ...]
    edges: tuple[Edge, ...]


def charts(picture: Picture) -> Charts:
    """All charts of a picture."""
    every = (
        ("Log lines per minute", "by signature, those of findings first", picture.rates),
        ("Messages that wait for consumers", "dashed: where it is heading", picture.trends),
        ("Messages stored per second", "by stream, between snapshots", picture.stored_rates),
        ("Messages delivered per second", "by consumer, between snapshots", picture.delivered_rates),
        ("Redelivered, not acknowledged", "messages, by consumer", picture.redeliveries),
    )
    drawable = (
        (title, note, [one_series for one_series in series if len(one_series.points) >= _MIN_POINTS])
        for title, note, series in every
    )
    return Charts(
        lines=tuple(_lines(title, note, series) for title, note, series in drawable if series),
        bars=tuple(map(_bar, picture.usages)),
        whiskers=_whiskers(picture.clocks),
        spreads=_spreads(picture.ack_latencies),
        leaders=_leaders(picture.leaders),
        clusters=_clusters(picture.nodes),
        edges=picture.edges,
    )


def _lines(title: str, note: str, series: Sequence[ChartSeries]) -> LineChart:
    ends = [chart_series.projection for chart_series in series if chart_series.projection]
    times = [
        at for chart_series in series for at, _ in (*chart_series.points, *filter(None, [chart_series.projection]))
    ]
    begin, end = min(times), max(*times, min(times) + 1)
    top = max(
        [value for chart_series in series for _, value in chart_series.points] + [value for _, value in ends] + [1e-9]
    )
    unit = series[0].unit.replace("per_minute", "count")

    def place(at: int, value: float) -> tuple[float, float]:
        x = LEFT + (at - begin) / (end - begin) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)
        return round(x, 1), round(y, 1)

    curves = []
    for number, chart_series in enumerate(series):
        places = [place(*point) for point in chart_series.points]
        projected = _path([places[-1], place(*chart_series.projection)]) if chart_series.projection else ""
        newest = quantity(round(chart_series.points[-1][1], 1), unit)
        highest = quantity(round(max(value for _, value in chart_series.points), 1), unit)
        text = f"highest {highest}" if chart_series.unit == "per_minute" else f"now {newest}"
        curves.append(Curve(number, chart_series.name, _path(places), projected, text))
    grid = tuple((place(begin, top * part)[1], quantity(round(top * part, 1), unit)) for part in (1.0, 0.5))
    labels = ((float(LEFT), to_the_second_us(begin), "start"), (float(WIDTH - RIGHT), to_the_second_us(end), "end"))
    limit = max((chart_series.limit for chart_series in series if chart_series.limit), default=None)
    return LineChart(
        title=title,
        note=note,
        curves=tuple(curves),
        grid=grid,
        times=labels,
        limit=place(begin, limit)[1] if limit else None,
        limit_label=f"limit {quantity(limit, unit)}" if limit else "",
    )


def _path(places: Sequence[tuple[float, float]]) -> str:
    """The SVG path through the places; a single place becomes a short stroke, so that it is visible."""
    if len(places) == 1:
        x, y = places[0]
        return f"M{x - 3} {y}L{x + 3} {y}"
    return "M" + "L".join(f"{x} {y}" for x, y in places)


def _bar(usage: Usage) -> Bar:
    part = usage.used / usage.limit
    grade = "ok" if usage.rolls or part < _HIGH else "high" if part < _FULL else "full"
    label = f"{share(part)} · {quantity(usage.used, usage.unit)} of {quantity(usage.limit, usage.unit)}"
    what = f"{usage.what}, discards old" if usage.rolls else usage.what
    return Bar(usage.name, what, round(min(part, 1) * 100, 1), grade, label)


def _whiskers(clocks: Sequence[ClockOffset]) -> tuple[Whisker, ...]:
    if not clocks:
        return ()
    span_ns = max(max(abs(clock.low_ns), abs(clock.high_ns)) for clock in clocks) or 1

    def place(value: int) -> float:
        return round(50 + value / span_ns * 48, 2)

    return tuple(
        Whisker(
            clock.name,
            clock.against,
            place(clock.low_ns),
            place(middle := (clock.low_ns + clock.high_ns) // 2),
            place(clock.high_ns),
            f"{'+' if middle >= 0 else ''}{span(middle)} ± {span((clock.high_ns - clock.low_ns + 1) // 2)}",
        )
        for clock in clocks
    )


def _spreads(latencies: Sequence[AckLatency]) -> tuple[QuantileBar, ...]:
    if not latencies:
        return ()
    shortest = max(min(latency.p50_ns for latency in latencies), 1)
    decades = max(log10(max(latency.p99_ns for latency in latencies) / shortest), 1.0)

    def place(value_ns: int) -> float:
        return round(2 + 96 * log10(max(value_ns / shortest, 1.0)) / decades, 2)

    return tuple(
        QuantileBar(
            latency.name,
            place(latency.p50_ns),
            place(latency.p99_ns),
            f"{span(latency.p50_ns)} · {span(latency.p99_ns)} · {span(latency.longest_ns)}",
        )
        for latency in latencies
    )


def _leaders(leaders: Sequence[Leader]) -> tuple[tuple[str, tuple[Band, ...]], ...]:
    if not leaders:
        return ()
    begin, end = min(leader.start_us for leader in leaders), max(leader.end_us for leader in leaders)
    span_ns = max(end - begin, 1)
    numbers = {name: number for number, name in enumerate(sorted({leader.server for leader in leaders}))}
    groups: dict[str, list[Band]] = {}
    for leader in leaders:
        band = Band(
            round((leader.start_us - begin) / span_ns * 100, 2),
            round(max((leader.end_us - leader.start_us) / span_ns * 100, 0.6), 2),
            leader.server,
            numbers[leader.server] % _COLOURS,
            f"{leader.server} from {to_the_second_us(leader.start_us)} to {to_the_second_us(leader.end_us)}",
        )
        groups.setdefault(leader.group, []).append(band)
    return tuple((group, tuple(bands)) for group, bands in groups.items())


def _clusters(nodes: Sequence[Node]) -> tuple[ClusterPicture, ...]:
    names = dict.fromkeys(node.cluster for node in nodes)
    return tuple(ClusterPicture(name, tuple(node for node in nodes if node.cluster == name)) for name in names)


def copies_of(picture: Picture) -> CopyTable:
    """Where the copies of streams are, those with the most severe findings first."""
    shown = picture.placements[:_STREAMS_SHOWN]
    holders = sorted({server for placement in shown for server, _ in placement.copies})
    servers = tuple(dict.fromkeys((*(node.name for node in picture.nodes if node.name in holders), *holders)))
    rows = tuple((placement, tuple(dict(placement.copies).get(name, "") for name in servers)) for placement in shown)
    return CopyTable(servers, rows, len(picture.placements) - len(shown))
