"""JSD705 in logs: groups that elected again and again within ten minutes, more often than restarts explain."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import WINDOW_US, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.raft_words import member_of
from jsdoctor.checks.logs.words import no_server_lines, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed, unknown
from jsdoctor.model.log import Leadership, LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted

_HIGHER = "it was cut off or frozen for a while (paused machine, stalled disk, lost routes): look what it did then"


@check("cluster_health.elections_logged")
def elections_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Every leader of a stream or consumer says so, every server tells of a meta leader (jetstream_cluster.go)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    for group in logs.leaderships:
        allowed = params.integer("elections") + 2 * _restarts(logs, group)
        if group.busiest_changes > allowed and group.first and not group.first.timed:
            yield unknown(
                group.subject,
                f"{counted(group.changes, 'election')} in lines without times, so nothing tells how fast they followed",
                "give the log with its times (logtime: true), or the output of `kubectl logs --timestamps`",
            )
        elif group.busiest_changes > allowed:
            yield _flapping(group, allowed)
        else:
            yield passed(group.subject)
    for burst in bursts(logs, "raft-higher-term", subjects=member_of):
        severity = Severity.WARNING if burst.most > params.integer("elections") * 10 else Severity.INFO
        yield detailed_finding(burst, "it led groups that had elected somebody else meanwhile", _HIGHER, severity)
    if not logs.leaderships:
        yield passed(CLUSTER)


def _restarts(logs: LogEvidence, group: Leadership) -> int:
    """Starts and ends of servers about the busiest ten minutes; clocks of unknown zones are taken to be in one."""
    if group.busiest_at is None:
        return 0
    begin, end = group.busiest_at.us - 60_000_000, group.busiest_at.us + WINDOW_US
    starts = [run.started.us for run in logs.runs if run.started]
    ends = [run.last.us for run in logs.runs if run.last and run.end != "open"]
    return max(sum(begin <= us < end for us in moments) for moments in (starts, ends))


def _flapping(group: Leadership, allowed: int) -> Finding:
    leaders = ", ".join(f"{name} {count:,}" for name, count in group.leaders[:5])
    what, sure = ("no leader, nothing can be created or changed", True)
    if group.kind != "meta":
        # A consumer or stream that is made anew under its old name elects a leader each time, and no line tells.
        what, sure = ("no leader, nothing is stored or delivered", group.kind == "stream" and len(group.leaders) > 1)
    doubt = "" if sure else "; or it was deleted and created again so often, which no line tells"
    return Finding(
        subject=group.subject,
        severity=None if sure else Severity.INFO,
        message=(
            f"{counted(group.busiest_changes, 'election')} within ten minutes from {group.busiest_at}, of"
            f" {group.changes:,} in all (won by {leaders}), more than restarts explain: while there is {what}{doubt}"
        ),
        measured=group.busiest_changes,
        threshold=allowed,
        unit="count",
        evidence=tuple(line.observed for line in group.exemplars),
        first_seen=zoned(group.first),
        last_seen=zoned(group.last),
    )
