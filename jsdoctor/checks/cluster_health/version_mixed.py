"""JSD709: servers of one cluster that run different versions for longer than an upgrade takes.

From logs: servers of one cluster that run different versions, and assets that an older one cannot run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.cluster_health.links import Members, clusters, in_roll_out, value_list
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.log_incidents import index_of
from jsdoctor.checks.logs.words import listed, no_server_lines, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed
from jsdoctor.model.log import LogEvidence, LogServer, ProcessRun
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.wording import span


@check("cluster_health.version_mixed")
def version_mixed(servers: Servers, params: Params) -> Iterator[Finding]:
    """A stream that uses what only the newer servers know is offline on the older ones (server: stream.go, 2.11)."""
    groups = list(clusters(servers))
    mixed = False
    for group in groups:
        if len(_by_version(group.servers)) > 1:
            mixed = True
            yield _finding(group, in_roll_out(group.servers, params.integer("roll_out"), params.integer("apart")))
        elif len(groups) > 1:
            yield passed(group.subject)
    among = _by_version([server for server in servers.servers if server.version])
    if len(among) > 1 and not mixed:
        yield failed(
            CLUSTER,
            f"clusters, single servers or leaf nodes run different versions ({value_list(among)}): streams and"
            " settings that only the newer ones know cannot be moved to the older ones",
            *(server.observed("version", server.version) for server in servers.servers),
            severity=Severity.INFO,
        )
    elif servers.servers and len(among) <= 1:
        yield passed(CLUSTER)


def _by_version(servers: Sequence[Server]) -> dict[str, list[str]]:
    version: dict[str, list[str]] = defaultdict(list)
    for server in servers:
        if server.version:
            version[server.version].append(server.name)
    return version


def _finding(group: Members, rolling: bool) -> Finding:
    versions = _by_version(group.servers)
    subject_text = "its servers" if group.subject is CLUSTER else f"the servers of {group.name}"
    effect = (
        "an upgrade seems to be under way, as some were started lately"
        if rolling
        else "what only the newer ones know (stream settings, API replies, Raft messages) fails on the others, and a"
        " stream made with such a setting goes offline where it is led by an older one"
    )
    return failed(
        group.subject,
        f"{subject_text} run {len(versions)} versions ({value_list(versions)}): {effect}",
        *(server.observed("version", server.version) for server in group.servers),
        severity=Severity.INFO if rolling else None,
        measured=(len(versions), 1, "count"),
    )


_OFFLINE = "it is offline there until that server is as new as the one that made it"
_DAY_US = 86_400_000_000


@check("cluster_health.versions_logged")
def versions_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Compare the versions of the processes that ran when the logs end; each start logs its version."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    for burst in bursts(logs, "stream-unsupported", "consumer-unsupported", "stream-unsupported-stopped", calm=False):
        what = f"unsupported by its server{burst.in_brackets('reason')}"
        yield detailed_finding(burst, what, _OFFLINE, Severity.ERROR)
    by_cluster: dict[str, list[LogServer]] = defaultdict(list)
    for server in logs.servers:
        by_cluster[server.cluster].append(server)
    for cluster, servers in by_cluster.items():
        newest = [runs[-1] for server in servers if cluster and (runs := index_of(logs).runs_of(server.name))]
        end = max((run.last.us for run in newest if run.last), default=0)
        current = [run for run in newest if run.last and run.version and end - run.last.us < _DAY_US]
        subject = CLUSTER if len(by_cluster) == 1 else Subject(kind="cluster", name=cluster)
        if len({run.version for run in current}) > 1:
            yield _mixed_finding(subject, current, end, params.integer("roll_out"))
        elif current:
            yield passed(subject)


def _mixed_finding(subject: Subject, current: Sequence[ProcessRun], end: int, roll_out_ns: int) -> Finding:
    starts = [run.started for run in current if run.started]
    newest = max(starts, default=None)
    age_ns = (end - newest.us) * 1000 if newest else None
    by_version: dict[str, list[str]] = defaultdict(list)
    for run in current:
        by_version[run.version].append(run.server)
    parts = "; ".join(f"{version} on {listed(names)}" for version, names in sorted(by_version.items()))
    rolling = age_ns is not None and age_ns < roll_out_ns
    since = f" since {newest}, {span(age_ns)} before the logs end" if newest and age_ns is not None else ""
    return failed(
        subject,
        f"its servers run {len(by_version)} versions{since} ({parts}): "
        + (
            "an upgrade seems to be under way" if rolling else "finish the upgrade, what only the newer ones know fails"
        ),
        *(run.exemplar.observed for run in current if run.exemplar),
        severity=Severity.INFO if rolling else None,
        measured=(len(by_version), 1, "count"),
        between=(zoned(newest), None),
    )
