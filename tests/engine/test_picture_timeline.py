"""The timeline of logs and findings: one axis, bounded lanes and events, and notes on what times do not tell."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from jsdoctor.engine.picture.draw import MAX_LANES, timeline
from jsdoctor.engine.picture.rates import Axis, rates
from jsdoctor.engine.picture.trends import microseconds
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import MINUTE_US, Exemplar, LogEvidence, LogServer, LogTime, Occurrence, ServerOffset
from jsdoctor.model.picture import TimelineEvent
from jsdoctor.model.report import Result
from tests.render import reports

START = datetime(2026, 6, 1, 12, tzinfo=UTC)
START_US = microseconds(START)
SECOND_US = 1_000_000
NOTHING = reports.report()


def seen(
    name: str, *spans: tuple[int, int, int], stream: str = "", zoned: bool = True, exemplars: Sequence[int] = ()
) -> Occurrence:
    """Lines of one server: first and last second after the start, and how many; lines to show at some seconds."""
    placed = [(START_US + first * SECOND_US, START_US + last * SECOND_US, count) for first, last, count in spans]
    total = sum(count for _, _, count in spans)
    return Occurrence(
        signature=name,
        logged_by="n1",
        fields=(("account", "A"), ("stream", stream)) if stream else (),
        count=total,
        dated=total,
        zoned=zoned,
        histogram=Histogram.of(placed),
        exemplars=tuple(
            Exemplar("n1.log", at, 10 * at, f"line at {at}", LogTime(START_US + at * SECOND_US)) for at in exemplars
        ),
    )


def logs(*occurrences: Occurrence, servers: Sequence[str] = (), offsets: Sequence[ServerOffset] = ()) -> EvidenceSet:
    named = tuple(LogServer(name=name, known_from="given") for name in servers)
    return EvidenceSet(
        {LogEvidence: LogEvidence(files=(), servers=named, found=occurrences, offsets=tuple(offsets))}, {}
    )


def offset(server: str, other: str, us: int, uncertainty_us: int) -> ServerOffset:
    """`other` is that far ahead of `server`."""
    return ServerOffset(
        server=server, other=other, offset_us=us, zone_us=0, skew_us=us, uncertainty_us=uncertainty_us, events=2
    )


def finding(severity: Severity, name: str, first: int | None, last: int | None, kind: str = "stream") -> Result:
    """A finding about what was seen between two seconds after the start."""
    subject = reports.stream(name) if kind == "stream" else reports.server(name)
    seen = [None if second is None else START + timedelta(seconds=second) for second in (first, last)]
    return Result(
        reports.rule("JSD602", "stream-near-limit", severity),
        Finding(subject=subject, message="full", first_seen=seen[0], last_seen=seen[1]),
    )


def times(event: TimelineEvent) -> tuple[float, float]:
    """Seconds after the start."""
    return (event.start_us - START_US) / SECOND_US, (event.end_us - START_US) / SECOND_US


def test_eighty_lanes_are_shown_those_with_most_events_first_and_the_rest_is_counted() -> None:
    equal_lanes = [seen("stream-lagging", (0, 1, 1), stream=f"S{number:03}") for number in range(MAX_LANES)]
    busy = seen("stream-lagging", (0, 1, 1), (300, 301, 1), stream="S999")
    drawn = timeline(NOTHING, logs(*equal_lanes, busy, seen("slow-write", (0, 1, 1))))
    assert (len(drawn.lanes), drawn.left_out) == (MAX_LANES, 2)
    names = [lane.name for lane in drawn.lanes]
    assert names[0] == "n1", "servers come first"
    assert "A > S999" in names
    assert {"A > S078", "A > S079"}.isdisjoint(names)


def test_notes_state_what_times_do_not_show() -> None:
    undated = Occurrence(
        signature="slow-write",
        logged_by="n1",
        count=1207,
        dated=7,
        zoned=False,
        histogram=seen("", (0, 9, 7)).histogram,
    )
    drawn = timeline(NOTHING, logs(undated, servers=("n1", "n2")))
    assert drawn.notes == (
        "1,200 log lines without a date are not drawn",
        "times without a zone are drawn as UTC; --timezone sets their zone",
        "the servers logged no event together, so their clocks could not be compared",
    )
    assert timeline(NOTHING, logs(seen("slow-write", (0, 9, 7)), servers=("n1",))).notes == ()


def test_the_axis_is_the_clock_that_most_others_were_compared_with() -> None:
    """And a zoned one before any other; a clock that is two comparisons away has the bounds of both."""
    second, minute = SECOND_US, 60 * SECOND_US
    pairs = [offset("n2", "n1", 5 * second, 10_000), offset("n2", "n3", -minute, 20_000), offset("n3", "n4", 700, 400)]
    axis = Axis(logs(offsets=pairs))
    assert [axis.of(name).ahead_us for name in ("n2", "n1", "n3", "n4")] == [0, 5 * second, -minute, -minute + 700]
    assert [axis.of(name).bound_us for name in ("n2", "n1", "n3", "n4")] == [0, 10_000, 20_000, 20_400]
    assert axis.of("n2").words == "reference clock of the axis"
    assert axis.of("n4").words == "clock -1m ± 20.4ms against n2, corrected"
    assert (axis.of("n9").words, axis.of("n9").bound_us) == ("clock not compared", None)
    zoned = LogServer(name="n4", known_from="given", first=LogTime(START_US, zoned=True))
    local = LogServer(name="n2", known_from="given", first=LogTime(START_US))
    known = LogEvidence(files=(), servers=(zoned, local), offsets=tuple(pairs))
    assert Axis(EvidenceSet({LogEvidence: known}, {})).of("n4").words == "reference clock of the axis"


def test_rates_are_lines_per_minute_in_180_bins_at_most() -> None:
    """Six hours and a minute need bins of three minutes; one hour has a point for each minute, empty ones too."""
    (series,) = rates(NOTHING, logs(seen("slow-write", (0, 0, 6), (21_660, 21_660, 12))))
    assert (series.name, series.unit, len(series.points)) == ("slow write", "per_minute", 121)
    assert series.points[0] == (START_US, 2.0)
    assert series.points[-1] == (START_US + 21_600 * SECOND_US, 4.0)
    (hour,) = rates(NOTHING, logs(seen("slow-write", (30, 90, 6), (3599, 3600, 12))))
    assert [value for _, value in hour.points if value] == [6.0, 12.0]
    assert (len(hour.points), hour.points[0][0] % MINUTE_US) == (61, 0)


def test_undated_lines_have_no_rate() -> None:
    undated = Occurrence(
        signature="a", logged_by="n1", count=9, dated=0, zoned=False, histogram=Histogram.of([(5, 6, 9)])
    )
    assert rates(NOTHING, logs(undated)) == ()


def test_a_finding_about_a_server_is_on_the_clock_of_that_server() -> None:
    """Others are on a clock that nobody names, so they stay as they are."""
    report = reports.report(
        [finding(Severity.ERROR, "n2", 10, 70, kind="server"), finding(Severity.ERROR, "n2", 10, 70)]
    )
    drawn = timeline(report, logs(offsets=[offset("n1", "n2", 4 * SECOND_US, 30)]))
    assert {lane.kind: times(lane.events[0]) for lane in drawn.lanes} == {"server": (6, 66), "stream": (10, 70)}
    assert {lane.kind: lane.events[0].bound_us for lane in drawn.lanes} == {"server": 30, "stream": None}
