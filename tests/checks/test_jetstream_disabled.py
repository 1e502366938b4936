"""JSD803: servers outside the meta group, and logs of servers that went on without JetStream."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.checks.server_health.jetstream_disabled import disabled_logged, jetstream_disabled
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Severity, Subject, passed
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.log import LogEvidence, LogFile, OutageInterval, ProcessRun
from jsdoctor.model.server import JetStreamStats, MetaGroup, Server, Servers
from tests.checks.values import after, log_time, params_of, server

N1 = Subject(kind="server", name="n1")


def sample(*peers: str, up_s: float | None = 3_600) -> tuple[Server, ...]:
    """Three servers that follow n1, which knows these members."""
    varz = {"start": None if up_s is None else after(seconds=-up_s)}
    members = []
    for name in ("n1", "n2", "n3"):
        replicas = tuple(Peer(name=peer) for peer in peers) if name == "n1" else ()
        meta = MetaGroup(leader="n1", replicas=replicas)
        members.append(server(name, varz=varz, jetstream=JetStreamStats(meta_cluster=meta)))
    return tuple(members)


def outside(*samples: tuple[Server, ...], outcome: Outcome = Outcome.FAIL) -> list[str]:
    occurrences = jetstream_disabled(Servers(samples[-1], earlier=samples[:-1]), params_of("JSD803"))
    return [finding.subject.name for finding in occurrences if finding.outcome is outcome]


def test_a_server_is_outside_if_the_leader_knows_it_in_no_sample() -> None:
    whole = sample("n2", "n3")
    assert outside(sample("n2")) == ["n3"]
    assert outside(sample("n2"), sample("n2")) == ["n3"]
    assert outside(sample("n2"), whole) == []
    assert outside(whole, sample("n2")) == []
    assert outside(sample("n2"), sample("n3")) == []
    assert outside(sample(), sample("n2"), sample()) == ["n3"]
    assert outside(sample(), sample(), sample("n2")) == ["n3"]


@pytest.mark.parametrize(("up_s", "outcome"), [(30, "fail"), (29.9, "not_evaluated"), (None, "not_evaluated")])
def test_a_server_that_just_started_may_still_join(up_s: float | None, outcome: str) -> None:
    assert outside(sample("n2", up_s=up_s), outcome=Outcome(outcome)) == ["n3"]


def run(stopped_s: float | None = 0, last_s: float = 0, reloaded_s: float | None = None, **more: Any) -> ProcessRun:
    times = {"jetstream_stopped": stopped_s, "reloaded": reloaded_s, "last": last_s}
    known = {name: log_time(seconds) for name, seconds in times.items() if seconds is not None}
    values: dict[str, Any] = {"server": "n1", "end": "open"}
    return ProcessRun(**values | known | more)


def logged(*runs: ProcessRun, intervals: tuple[OutageInterval, ...] = ()) -> list[Finding]:
    files = (LogFile(path="n1.log", size=1, server_lines=1, levels=("INF",)),)
    return list(disabled_logged(LogEvidence(files=files, runs=runs, intervals=intervals)))


def test_a_process_that_goes_on_for_more_than_five_seconds_runs_without_jetstream() -> None:
    (finding,) = logged(run(last_s=5.001))
    assert finding.severity is None
    assert finding.message == (
        "JetStream was shut down at 2026-11-21 12:00:00Z and the server went on without it; the log has no reason"
    )
    for in_order in (run(last_s=5), run(None, 9)):
        assert logged(in_order) == [passed(CLUSTER)]
    (earlier,) = logged(run(last_s=9), run(None, 99))
    assert earlier.severity is Severity.WARNING
    assert earlier.message.endswith("; the log has no reason. It was started again since")


def test_a_reload_within_five_seconds_did_it() -> None:
    for reloaded_s in (0, 5):
        (finding,) = logged(run(last_s=5, reloaded_s=reloaded_s))
        assert "; a reload of its configuration did it, which has no jetstream block then" in finding.message
    for other_s in (-0.001, 5.001):
        assert logged(run(last_s=5, reloaded_s=other_s)) == [passed(CLUSTER)]


def test_it_stays_off_until_the_next_start() -> None:
    def interval(seconds: float, resolved_s: float | None) -> OutageInterval:
        resolved = None if resolved_s is None else log_time(resolved_s)
        began = log_time(seconds)
        return OutageInterval(
            signature="jetstream-out-of-resources",
            logged_by="n1",
            fields=(),
            began=began,
            last=began,
            count=1,
            resolved=resolved,
            log_end=log_time(9_000),
        )

    (lasting,) = logged(intervals=(interval(0, 60), interval(600, None)))
    assert lasting.subject == N1
    assert lasting.severity is None
    assert lasting.message.endswith(". It stays off until the server is started again")
    (over,) = logged(intervals=(interval(0, 60), interval(600, 660)))
    assert over.severity is Severity.WARNING
    assert over.message.endswith(". The server was started again since")
