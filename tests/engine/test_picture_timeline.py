"""The timeline of logs and findings: one axis, bounded lanes and events, and notes on what times do not tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.engine.picture.clocks import Axis
from jsdoctor.engine.picture.draw import MAX_EVENTS, MAX_LANES, timeline
from jsdoctor.engine.picture.rates import rates
from jsdoctor.engine.picture.trends import microseconds
from jsdoctor.model.clock import Clocks, Offset, ServerClock
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import LogEvidence, LogServer, Occurrence, OutageInterval, ProcessRun, ServerOffset
from jsdoctor.model.log_line import MINUTE_US, Exemplar, LogTime
from jsdoctor.model.picture import Lane, TimelineEvent
from jsdoctor.model.report import Report, Result
from tests.render import reports
from tests.support.ruleset import rules

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


def lanes(report: Report, evidence: EvidenceSet) -> list[str]:
    return [f"{lane.kind} {lane.name}" for lane in timeline(report, evidence).lanes]


def finding(severity: Severity, name: str, first: int | None, last: int | None, kind: str = "stream") -> Result:
    """A finding about what was seen between two seconds after the start."""
    subject = reports.stream(name) if kind == "stream" else reports.server(name)
    seen = [None if second is None else START + timedelta(seconds=second) for second in (first, last)]
    return Result(
        reports.rule("JSD602", "stream-near-limit", severity),
        Finding(subject=subject, message="full", first_seen=seen[0], last_seen=seen[1]),
    )


def one_lane(evidence: EvidenceSet, report: Report = NOTHING) -> Lane:
    (lane,) = timeline(report, evidence).lanes
    return lane


def times(event: TimelineEvent) -> tuple[float, float]:
    """Seconds after the start."""
    return (event.start_us - START_US) / SECOND_US, (event.end_us - START_US) / SECOND_US


def test_an_occurrence_becomes_sixty_events_at_most() -> None:
    """An hour and a second of lines every second: each event has those of a sixtieth, rounded up."""
    lane = one_lane(logs(seen("slow-write", *((at, at, 1) for at in range(3601)))))
    assert len(lane.events) == 60
    assert [event.count for event in lane.events[:2]] == [61, 60]
    assert sum(event.count for event in lane.events) == 3601
    assert times(lane.events[0]) == (0, 60)


def test_neighbours_within_one_bucket_are_one_event() -> None:
    lane = one_lane(logs(seen("slow-write", (0, 5, 2), (50, 59, 3), (60, 70, 4))))
    assert [(times(event), event.count) for event in lane.events] == [((0, 59), 5), ((60, 70), 4)]


def test_an_event_shows_its_own_lines_or_else_the_first_of_all() -> None:
    lane = one_lane(logs(seen("slow-write", (0, 9, 5), (600, 609, 5), (1200, 1209, 1), exemplars=(1, 2, 3, 9, 605))))
    assert [[line.line for line in event.lines] for event in lane.events] == [[1, 2, 3], [605], [1]]


def test_a_line_is_shown_up_to_400_characters() -> None:
    long = Exemplar("n1.log", 1, 0, "x" * 401, LogTime(START_US))
    occurrence = seen("slow-write", (0, 0, 1), (90, 90, 1))
    lane = one_lane(
        logs(
            Occurrence(
                **{name: getattr(occurrence, name) for name in occurrence.__struct_fields__} | {"exemplars": (long,)}
            )
        )
    )
    assert lane.events[0].lines[0].text == "x" * 400


def test_a_single_moment_is_not_drawn() -> None:
    assert timeline(NOTHING, logs(seen("slow-write", (5, 5, 7)))).lanes == ()
    assert len(timeline(NOTHING, logs(seen("slow-write", (5, 6, 7)))).lanes) == 1


def test_eighty_lanes_are_shown_those_with_most_events_first_and_the_rest_is_counted() -> None:
    equal_lanes = [seen("stream-lagging", (0, 1, 1), stream=f"S{number:03}") for number in range(MAX_LANES)]
    busy = seen("stream-lagging", (0, 1, 1), (300, 301, 1), stream="S999")
    drawn = timeline(NOTHING, logs(*equal_lanes, busy, seen("slow-write", (0, 1, 1))))
    assert (len(drawn.lanes), drawn.left_out) == (MAX_LANES, 2)
    names = [lane.name for lane in drawn.lanes]
    assert names[0] == "n1", "servers come first"
    assert "A > S999" in names
    assert {"A > S078", "A > S079"}.isdisjoint(names)


def test_lanes_share_the_events() -> None:
    """What is left out of a lane is what nothing was found wrong with, and then what is latest."""
    few = logs(*(seen(f"a-{number}", *((300 * at, 300 * at, 1) for at in range(60))) for number in range(110)))
    lane = one_lane(few)
    assert (len(lane.events), lane.left_out) == (MAX_EVENTS, 110 * 60 - MAX_EVENTS)
    many = [
        seen(f"b-{kind}", (300 * at, 300 * at, 1), stream=f"S{number}")
        for number in range(MAX_LANES)
        for kind in "xy"
        for at in range(38)
    ]
    drawn = timeline(NOTHING, logs(*many))
    assert {(len(lane.events), lane.left_out) for lane in drawn.lanes} == {(MAX_EVENTS // MAX_LANES, 1)}
    latest = max(event.start_us for event in drawn.lanes[0].events)
    assert (latest - START_US) / SECOND_US == 37 * 300


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


def test_a_clock_is_compared_along_the_surest_way() -> None:
    """One that was compared with the axis itself, too, where others in between give closer bounds."""
    pairs = [offset("n1", "n2", 1000, 10), offset("n1", "n3", 5000, 900), offset("n2", "n3", 3000, 20)]
    pairs += [offset("n1", "n4", 0, 5), offset("n4", "n3", 0, 5000)]
    axis = Axis(logs(offsets=pairs))
    assert [(axis.of(name).ahead_us, axis.of(name).bound_us) for name in ("n2", "n3", "n4")] == [
        *((1000, 10), (4000, 30), (0, 5))
    ]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(2_000, 4_000, "+3µs ± 1µs"), (-4_000, -1_000, "-3µs ± 2µs"), (-1_000, 1_000, "+0s ± 1µs")],
)
def test_measured_clocks_correct_times_where_no_logs_do(low: int, high: int, words: str) -> None:
    clock = ServerClock(name="n1", offset=Offset(low, high), at=START)
    axis = Axis(EvidenceSet({Clocks: Clocks((clock,))}, {}))
    assert axis.of("n1").words == f"clock {words} against this machine, corrected"


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


def test_a_finding_is_drawn_from_its_first_to_its_last_time() -> None:
    report = reports.report(
        [
            finding(Severity.WARNING, "S", 10, 70),
            finding(Severity.WARNING, "S", None, 90),
            finding(Severity.WARNING, "S", 95, None),
            finding(Severity.WARNING, "S", None, None),
        ]
    )
    lane = one_lane(EvidenceSet({}, {}), report)
    assert [times(event) for event in lane.events] == [(10, 70), (90, 90), (95, 95)]
    (event, *_) = lane.events
    assert (event.kind, event.label, event.severity) == ("finding", "stream near limit: full", Severity.WARNING)
    assert (event.code, event.bound_us) == ("JSD602", None)


def test_a_finding_about_a_server_is_on_the_clock_of_that_server() -> None:
    """Others are on a clock that nobody names, so they stay as they are."""
    report = reports.report(
        [finding(Severity.ERROR, "n2", 10, 70, kind="server"), finding(Severity.ERROR, "n2", 10, 70)]
    )
    drawn = timeline(report, logs(offsets=[offset("n1", "n2", 4 * SECOND_US, 30)]))
    assert {lane.kind: times(lane.events[0]) for lane in drawn.lanes} == {"server": (6, 66), "stream": (10, 70)}
    assert {lane.kind: lane.events[0].bound_us for lane in drawn.lanes} == {"server": 30, "stream": None}


def test_lanes_of_one_kind_begin_with_the_most_severe_and_servers_keep_their_names_order() -> None:
    report = reports.report(
        [
            *(finding(Severity.WARNING, "A", 0, 1), finding(Severity.CRITICAL, "B", 0, 1)),
            *(finding(Severity.INFO, "B", 2, 3), finding(Severity.INFO, "C", 2, 3)),
            *(finding(Severity.ERROR, "C", 0, 1), finding(Severity.CRITICAL, "n9", 0, 1, "server")),
            finding(Severity.INFO, "n1", 0, 1, "server"),
        ]
    )
    assert lanes(report, EvidenceSet({}, {})) == [
        *("server n1", "server n9", "stream APP > B", "stream APP > C", "stream APP > A")
    ]


def test_lanes_with_severe_events_are_kept_before_those_with_many() -> None:
    many = [seen("stream-lagging", (0, 1, 1), (300, 301, 1), stream=f"S{number}") for number in range(MAX_LANES)]
    report = reports.report([finding(Severity.INFO, "RARE", 0, 1)])
    assert "stream APP > RARE" in lanes(report, logs(*many))


def test_lanes_come_in_the_order_of_what_depends_on_what() -> None:
    kinds = ["file", "account", "flow", "client", "consumer", "stream", "server", "cluster", "area"]
    results = [
        Result(reports.NEAR_LIMIT, Finding(subject=Subject(kind=kind, name="x"), message="full", first_seen=at))
        for kind in kinds
        for at in (START, START + timedelta(seconds=9))
    ]
    drawn = timeline(reports.report(results), EvidenceSet({}, {}))
    assert [lane.kind for lane in drawn.lanes] == [*reversed(kinds[:-1]), "area"]


def test_the_most_severe_events_of_a_lane_are_kept() -> None:
    many = [seen(f"a-{number}", *((300 * at, 300 * at, 1) for at in range(60))) for number in range(110)]
    report = reports.report([finding(Severity.INFO, "n1", 99_000, 99_001, "server")])
    (lane,) = timeline(report, logs(*many)).lanes
    assert [event.kind for event in lane.events if event.kind == "finding"] == ["finding"]
    assert lane.left_out == 601


def test_an_event_ends_to_the_microsecond_where_the_next_sixtieth_begins() -> None:
    """An hour in sixty parts, rounded up to the microsecond."""
    begin, width = START_US, 60 * SECOND_US + 1
    moments = [begin, begin + width - 1, begin + width, begin + 3600 * SECOND_US]
    occurrence = replace(seen("slow-write", (0, 0, 4)), histogram=Histogram.of([(at, at, 1) for at in moments]))
    lane = one_lane(logs(occurrence))
    assert [(event.start_us - begin, event.count) for event in lane.events] == [
        *((0, 2), (width, 1), (3600 * SECOND_US, 1))
    ]


def test_an_event_is_as_severe_as_the_worst_finding_of_its_rule() -> None:
    """Rules are known by the names of their log signatures; a signature of no rule that was run has no code."""
    links = next(rule for rule in rules() if rule.code == "JSD714")
    worst_last = [
        Result(links, Finding(subject=reports.server(name), message="refused", severity=severity))
        for name, severity in (("n1", Severity.WARNING), ("n2", Severity.ERROR), ("n3", Severity.INFO))
    ]
    evidence = logs(seen("route-refused", (0, 9, 1)), seen("meta-no-leader", (20, 29, 1)))
    for results in (worst_last, worst_last[::-1]):
        lane = one_lane(evidence, reports.report(results))
        assert [(event.label, event.code, event.severity) for event in lane.events] == [
            ("route refused on n1", "JSD714", Severity.ERROR),
            ("meta no leader on n1", "", None),
        ]
    passed = reports.report(verdicts=reports.passed(links))
    assert [(event.code, event.severity) for event in one_lane(evidence, passed).events] == [
        ("JSD714", None),
        ("", None),
    ]


def test_the_label_of_lines_leaves_out_what_its_lane_says() -> None:
    fields = (("account", "A"), ("stream", "S"), ("server", "n1"), ("peer", "n2"), ("reason", "timeout"), ("lag", "9"))
    lane = one_lane(logs(replace(seen("stream-lagging", (0, 9, 1)), fields=fields)))
    assert [event.label for event in lane.events] == ["stream lagging on n1, peer n2, reason timeout"]


def test_an_outage_whose_lines_were_not_kept_is_one_of_the_server_that_logged_it() -> None:
    """Of a signature with many subjects only those with the most lines are kept."""
    began, last = LogTime(START_US), LogTime(START_US + 9 * SECOND_US)
    outage = OutageInterval(
        signature="stream-no-leader", logged_by="n1", fields=(("stream", "S"),), began=began, last=last, count=3
    )
    lane = one_lane(EvidenceSet({LogEvidence: LogEvidence(files=(), servers=(), intervals=(outage,))}, {}))
    (event,) = lane.events
    assert (lane.kind, lane.name) == ("server", "n1")
    assert (event.kind, event.label, event.open, times(event)) == ("outage", "stream no leader on n1", True, (0, 9))


def test_processes_and_the_time_between_them() -> None:
    """One whose start is not in the log has no beginning to draw; where it ended is known."""

    def at(second: int) -> LogTime:
        return LogTime(START_US + second * SECOND_US)

    runs = (
        ProcessRun(server="n1", last=at(10), end="failed", version="2.10.0", pid=7),
        ProcessRun(server="n1", started=at(15), last=at(50), end="unclean", version="2.12.8", pid=8),
        ProcessRun(server="n1", started=at(60), last=at(80), end="clean", version="2.12.8"),
        ProcessRun(server="n1", started=at(90), last=at(99), pid=9),
    )
    lane = one_lane(EvidenceSet({LogEvidence: LogEvidence(files=(), servers=(), runs=runs)}, {}))
    assert [(*times(event), event.label, event.severity) for event in lane.events] == [
        (10, 15, "down, the process before ended failed", Severity.WARNING),
        (15, 50, "process 8 of 2.12.8, end: unclean", None),
        (50, 60, "down, the process before ended unclean", Severity.WARNING),
        (60, 80, "process of 2.12.8, end: clean", None),
        (80, 90, "down, the process before ended clean", None),
        (90, 99, "process 9 of nats-server, end: open", None),
    ]
