"""JSD703 in logs: a server that ended and was not started again while others went on, and peers that were removed."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.index import index_of
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.raft_words import cluster_of
from jsdoctor.checks.logs.words import no_server_lines, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed, unknown
from jsdoctor.model.log import LogEvidence, LogServer, ProcessRun
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_ENDS = {"clean": "stopped in order", "lame duck": "left in lame duck mode", "failed": "ended with a fatal error"}
_REMOVED = ("peers-evicted", "peers-evicted-of", "peer-set-adjusted")


@check("cluster_health.server_gone_logged")
def server_gone_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """A process that ends says so, unless it is killed; whether it came back shows in the rest of its log."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    newest = {zoned: _two_newest(logs, zoned) for zoned in (False, True)}
    for server in logs.servers:
        runs = index_of(logs).runs_of(server.name)
        last = runs[-1].last if runs else None
        others = newest[last.zoned] if last else []
        end = next((other.last for other in others if other.name != server.name), None)
        if last is None or end is None or not last.dated or runs[-1].end not in _ENDS:
            continue
        gone_ns = (end.us - last.us) * 1000
        subject = Subject(kind="server", name=server.name)
        yield _gone(subject, runs[-1], gone_ns) if gone_ns >= params.integer("gone") else passed(subject)
    if len(logs.servers) == 1 and logs.servers[0].cluster:
        yield unknown(
            CLUSTER, "the log of one server does not tell which others are gone", "name the logs of all servers"
        )
    for burst in bursts(logs, *_REMOVED, subjects=cluster_of):
        then = "right when servers were taken away for good; those that still run have JetStream switched off"
        yield detailed_finding(burst, "peers were removed from the cluster", then, Severity.INFO)


def _two_newest(logs: LogEvidence, zoned: bool) -> list[LogServer]:
    """The servers whose logs go on longest: of any server, at least one of them is another one."""
    known = [server for server in logs.servers if server.last is not None and server.last.zoned == zoned]
    return nlargest(2, known, key=lambda server: server.last.us if server.last else 0)


def _gone(subject: Subject, run: ProcessRun, gone_ns: int) -> Finding:
    return Finding(
        subject=subject,
        severity=None if run.end == "failed" else Severity.WARNING,
        message=(
            f"it {_ENDS[run.end]} at {run.last} and did not come back for the {span(gone_ns)} that other servers'"
            " logs go on: its groups ran with one member less; start it, or remove the peer if it is gone for good"
        ),
        measured=gone_ns,
        unit="duration",
        evidence=(run.exemplar.observed,) if run.exemplar else (),
        first_seen=zoned(run.last),
    )
