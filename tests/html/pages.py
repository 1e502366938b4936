"""The pages that are looked at: reports of real logs, real captures and recordings, hostile ones, and large ones."""

from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.app.collecting import collect
from jsdoctor.app.judging import Judging, open_judging
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.request import JudgeRequest
from jsdoctor.engine.incidents import incidents
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.picture import Lane, Line, Picture, Timeline, TimelineEvent
from jsdoctor.model.report import Report, Result
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.topology import Domain, Topology
from jsdoctor.model.trend import History
from jsdoctor.render.formats import FORMATS
from jsdoctor.render.options import RenderOptions
from jsdoctor.sources.log_engine import Engine
from jsdoctor.sources.request import EvidenceRequest, LogRequest, ReaderRequest
from tests.render import reports
from tests.support.evidence import evidence_of

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.exe\u200f{{ 7*7 }}${1}"
_START = 1_763_700_000_000_000


def html(report: Report, ascii_only: bool = False) -> str:
    return FORMATS["html"](report, RenderOptions(ascii_only=ascii_only))


def report_of_logs(*paths: Path) -> Report:
    """What `check --logs PATH -o report.html` finds."""
    judging = _judging()
    asked = EvidenceRequest(logs=LogRequest(paths=tuple(map(str, paths))), reader=ReaderRequest(engine=Engine.LOCAL))
    return collect(asked, judging).report()


def week_of_lag() -> Report:
    """A consumer that falls behind for a week, as earlier bundles of the same deployment tell it."""
    evidence = evidence_of({"base": "three-nodes-2.15.1"})
    now = evidence.get(SnapshotSeries)
    assert now is not None
    days = tuple(_on_day(now.last, day) for day in range(8))
    return _judging().report(evidence.joined(SnapshotSeries(days[-1:])).joined(History(days)), (), "")


def _on_day(snapshot: ClusterSnapshot, day: int) -> ClusterSnapshot:
    """That many days into the week: each stream has 100,000 messages more, of which its consumers took a tenth."""
    ago, more = timedelta(days=7 - day), 100_000 * day
    return replace(
        snapshot,
        taken_at=snapshot.taken_at - ago,
        streams=tuple(
            replace(
                stream,
                at=stream.at - ago,
                state=replace(
                    stream.state, last_seq=stream.state.last_seq + more, messages=stream.state.messages + more
                ),
                consumers=tuple(
                    replace(
                        consumer,
                        at=consumer.at - ago,
                        num_pending=consumer.num_pending + more * 9 // 10,
                        delivered=replace(
                            consumer.delivered, consumer_seq=consumer.delivered.consumer_seq + more // 10
                        ),
                    )
                    for consumer in stream.consumers
                ),
            )
            for stream in snapshot.streams
        ),
    )


def _judging() -> Judging:
    return open_judging(JudgeRequest(isolated=True, quiet=True, output=(OutputTarget("html", Path("report.html")),)))


def hostile() -> Report:
    """Markup, script ends and marks that reorder text, in every place that a name can reach."""
    made = reports.hostile()
    nasty = Finding(subject=reports.stream(HOSTILE), message=HOSTILE, first_seen=reports.STARTED)
    event = TimelineEvent(
        kind="outage",
        label=HOSTILE,
        start_us=_START,
        end_us=_START + 1_000_000,
        severity=Severity.ERROR,
        lines=(Line(HOSTILE, 1, 0, HOSTILE),),
    )
    made = replace(
        made,
        results=(*made.results, Result(reports.NEAR_LIMIT, nasty)),
        headline=HOSTILE,
        topology=Topology((Domain(HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,)),), {HOSTILE: 2}),
        picture=Picture(timeline=Timeline((Lane("stream", HOSTILE, (event,)),), notes=(HOSTILE,))),
    )
    return replace(made, incidents=incidents(made.failures(), EvidenceSet({}, {}), made.finished))


def large(findings: int, events: int) -> Report:
    """Many findings of four rules, and lanes with events at all hours of a week."""
    rules = (reports.ACK_PENDING, reports.NEAR_LIMIT, reports.LAG, reports.MIRROR)
    results = [
        Result(
            rules[number % len(rules)],
            Finding(subject=reports.stream(f"STREAM-{number}"), message=f"{number} messages wait", measured=number),
        )
        for number in range(findings)
    ]
    lanes = 60
    moments = [_START + (number * 7919 % 604_800) * 1_000_000 for number in range(events)]
    made = reports.report(results)
    return replace(
        made,
        picture=Picture(
            timeline=Timeline(
                tuple(
                    Lane(
                        "stream",
                        f"APP > STREAM-{lane}",
                        tuple(
                            TimelineEvent(kind="log", label="stream lagging on n1", start_us=at, end_us=at, count=3)
                            for at in moments[lane::lanes]
                        ),
                    )
                    for lane in range(lanes)
                )
            )
        ),
    )
