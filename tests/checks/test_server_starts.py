"""JSD805: which starts of servers are news, by their own times, over the past, and in logs."""

from datetime import datetime

import msgspec
import pytest

from jsdoctor.checks.server_health.server_restarted import (
    crash_logged,
    restarted_history,
    restarted_lately,
    restarted_logged,
)
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject
from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.log import CrashLoop, LogEvidence, LogFile, ProcessRun
from jsdoctor.model.server import JetStreamStats, MetaGroup, Server, Servers
from jsdoctor.model.server_past import PastSample, ServerPast
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from tests.checks.values import NOON, after, lines, log_time, params_of, server

N1 = Subject(kind="server", name="n1")


def up(name: str, minutes: float, size: int = 0, domain: str = "") -> Server:
    """A server that started so long ago, of a cluster of that size."""
    stats = JetStreamStats(meta_cluster=MetaGroup(cluster_size=size)) if size else None
    return server(name, varz={"start": after(minutes=-minutes)}, jetstream=stats, domain=domain)


def lately(*servers: Server, streams: SnapshotSeries | None = None) -> list[Finding]:
    return list(restarted_lately(Servers(servers), streams, params_of("JSD805")))


def created(*streams: tuple[datetime | None, str]) -> SnapshotSeries:
    """Streams that were made then, in that domain."""
    made = [
        Stream(
            account="APP",
            name=f"S{number}",
            config=StreamConfig(),
            state=StreamState(),
            at=NOON,
            created=when,
            domain=domain,
        )
        for number, (when, domain) in enumerate(streams)
    ]
    return SnapshotSeries((ClusterSnapshot(taken_at=NOON, streams=tuple(made)),))


def failed(findings: list[Finding]) -> list[str]:
    return [finding.subject.label for finding in findings if finding.outcome is Outcome.FAIL]


def past(*starts: datetime) -> ServerPast:
    """An hour between the samples; in the last one a second server is there, which was not restarted."""
    samples = []
    for number, start in enumerate(starts):
        at = after(hours=number - len(starts) + 1)
        servers = [server(at=at, varz={"start": start})]
        if number == len(starts) - 1:
            servers.append(server("n2", at=at, varz={"start": starts[0]}))
        samples.append(PastSample(at=at, servers=tuple(servers), links=()))
    return ServerPast(tuple(samples))


@pytest.mark.parametrize(("hours", "severity"), [(24.0, None), (24.001, Severity.INFO)])
def test_three_starts_within_a_day_are_no_roll_out(hours: float, severity: Severity | None) -> None:
    starts = [after(hours=-90), after(hours=-hours), after(hours=-2), after(hours=-1)]
    finding, _ = restarted_history(past(*starts))
    assert finding.severity is severity


def test_sites_of_a_fleet_are_judged_by_themselves_and_by_their_own_streams() -> None:
    servers = (
        up("n1", 5, domain="west"),
        up("n2", 5, domain="west"),
        up("n3", 5, domain="east"),
        up("n4", 5, domain="east"),
    )
    findings = lately(*servers, streams=created((None, "west"), (after(days=-3), "west"), (NOON, "east")))
    assert [finding.subject.label for finding in findings] == ["n3", "n4", "west"]
    west = findings[-1]
    assert west.subject == Subject(kind="cluster", name="west")
    assert west.evidence[-1].value == after(days=-3)
    nowhere = lately(*servers, streams=created((after(days=-3), "")))
    assert [finding.subject for finding in nowhere] == [Subject(kind="cluster", name=name) for name in ("east", "west")]
    assert failed(lately(*servers[:2], streams=created((after(days=-3), "east")))) == []


def run(last_s: float, end: str = "unclean", **more: object) -> ProcessRun:
    values = {"server": "n1", "last": log_time(last_s), "end": end} | more
    return msgspec.convert(values, ProcessRun, from_attributes=True)


def logged(*runs: ProcessRun, loops: tuple[CrashLoop, ...] = ()) -> Finding:
    files = (LogFile(path="n1.log", size=1, server_lines=1),)
    (finding,) = restarted_logged(LogEvidence(files=files, runs=runs, crash_loops=loops))
    return finding


def loop(starts: int, unclean: int) -> CrashLoop:
    return CrashLoop(server="n1", starts=starts, unclean=unclean, began=log_time(0), ended=log_time(300))


def test_where_the_end_may_be_in_a_file_that_is_missing() -> None:
    missing, there = run(0, same_file=False), run(10)
    doubtful = logged(missing)
    assert doubtful.severity is Severity.INFO
    assert doubtful.message.endswith(", or the host went away; perhaps only the file that reports its end is missing")
    for certain in (
        logged(missing, there),
        logged(missing, loops=(loop(4, 2),)),
        logged(missing, run(9, panic="oops")),
    ):
        assert certain.severity is not Severity.INFO
        assert "perhaps" not in certain.message


def test_a_crash_counts_while_the_server_starts_too() -> None:
    started = run(30, started=log_time(0), ready=log_time(0), panic="oops")
    for signature in ("server-panic-frame", "server-panic-line", "monitoring-panic"):
        occurrences = (lines(signature, seconds=2, fields=(("account", "APP"),)),)
        (finding,) = crash_logged(LogEvidence(files=(), runs=(started,), found=occurrences))
        assert finding.subject == N1
