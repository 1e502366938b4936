"""What a report can draw beside its findings: a timeline of events by lane, and values for charts. All bounded.

Times are microseconds since 1970, UTC, on one axis: those of servers whose clocks were compared are corrected.
"""

from __future__ import annotations

import msgspec

from jsdoctor.model.finding import Severity


class Line(msgspec.Struct, frozen=True):
    """A line of a log behind an event: file as the report names it, line from 1, byte offset of the line."""

    file: str
    line: int
    offset: int
    text: str


class TimelineEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something in time. `end_us` equals `start_us` for a moment.

    `open`: it had not ended when its evidence does. `kind` is log, outage, run, down, silence, leader, finding, step or
    state. `severity` None: nothing was found wrong with it. `bound_us` is the uncertainty of the times to either side,
    None where the clock was not compared with another.
    """

    kind: str
    label: str
    start_us: int
    end_us: int
    open: bool = False
    count: int = 1
    severity: Severity | None = None
    code: str = ""
    bound_us: int | None = None
    lines: tuple[Line, ...] = ()


class Lane(msgspec.Struct, frozen=True):
    """The events of one server, stream, consumer or other subject. `clock` says how its times were corrected."""

    kind: str
    name: str
    events: tuple[TimelineEvent, ...]
    clock: str = ""
    left_out: int = 0


class Timeline(msgspec.Struct, frozen=True):
    """Lanes, servers first. `left_out` lanes are not shown. `notes` say what the times do not show.

    `now_us` is the newest sample of the deployment, None without one.
    """

    lanes: tuple[Lane, ...] = ()
    left_out: int = 0
    notes: tuple[str, ...] = ()
    now_us: int | None = None


class ChartSeries(msgspec.Struct, frozen=True, kw_only=True):
    """Values over time. `limit` is a value that must not be passed; `projection` the time and value it heads for."""

    name: str
    unit: str
    points: tuple[tuple[int, float], ...]
    limit: float | None = None
    projection: tuple[int, float] | None = None


class Usage(msgspec.Struct, frozen=True):
    """What is used of a limit, both in `unit`. `rolls`: what is oldest makes room, so that full is no fault."""

    name: str
    what: str
    used: int
    limit: int
    unit: str = "bytes"
    rolls: bool = False


class ClockOffset(msgspec.Struct, frozen=True):
    """By how much a clock is ahead of `against`, nanoseconds, between two bounds."""

    name: str
    against: str
    low_ns: int
    high_ns: int


class AckLatency(msgspec.Struct, frozen=True):
    """How long the acknowledgements of a consumer took, in nanoseconds since the last delivery of each message."""

    name: str
    count: int
    p50_ns: int
    p99_ns: int
    longest_ns: int


class Leader(msgspec.Struct, frozen=True):
    """Who led one group from when to when."""

    group: str
    server: str
    start_us: int
    end_us: int


class Node(msgspec.Struct, frozen=True):
    """A server of the topology. `state` is ok, warned or down; `why` says what is wrong with it."""

    name: str
    cluster: str
    state: str = "ok"
    leader: bool = False
    why: str = ""


class CopyPlacement(msgspec.Struct, frozen=True):
    """The copies of one stream: by server leader, current, behind or offline. `severity`: its worst finding."""

    name: str
    copies: tuple[tuple[str, str], ...]
    severity: Severity | None = None


class Edge(msgspec.Struct, frozen=True):
    """A link between two clusters or leaf sites. `kind` is gateway or leaf node; `up` False: it is not connected."""

    kind: str
    one: str
    other: str
    up: bool = True


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """All that is drawn. Empty parts are left out of a report."""

    timeline: Timeline = Timeline()
    rates: tuple[ChartSeries, ...] = ()
    trends: tuple[ChartSeries, ...] = ()
    stored_rates: tuple[ChartSeries, ...] = ()
    delivered_rates: tuple[ChartSeries, ...] = ()
    redeliveries: tuple[ChartSeries, ...] = ()
    ack_latencies: tuple[AckLatency, ...] = ()
    usages: tuple[Usage, ...] = ()
    clocks: tuple[ClockOffset, ...] = ()
    leaders: tuple[Leader, ...] = ()
    nodes: tuple[Node, ...] = ()
    placements: tuple[CopyPlacement, ...] = ()
    edges: tuple[Edge, ...] = ()
