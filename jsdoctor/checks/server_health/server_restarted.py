"""JSD805: a server that was restarted: between samples, or lately and unlike the others.

From logs: processes that did not end in order, and servers that do not stay up, by their logs.
A stack trace of nats-server, as people paste it without the log around it, or one of its monitoring port.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.log_incidents import index_of
from jsdoctor.checks.logs.words import by_server, no_server_lines, times, when, zoned
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.health import started_at, uptime_ns
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, Subject, compared, failed, passed
from jsdoctor.model.log import CrashLoop, LogEvidence, ProcessRun
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.server_past import ServerPast
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import ServerTrend
from jsdoctor.model.wording import span

_UPTIME_FACTOR = 10
"""A server restarted alone if all others have been up this many times as long: a rollout restarts all."""

_OFTEN_STARTS = 3
_OFTEN_WITHIN = timedelta(hours=24)
"""From this number of starts of one server within this time it is no roll-out."""


@check("server_health.restarted_between_samples")
def restarted_between_samples(trend: ServerTrend) -> Iterator[Finding]:
    """Count the starts between samples by server id; two of them mean that the server does not stay up."""
    for history in trend.servers:
        if history.restarted:
            server, starts = history.last, len({reading.server_id for reading in history.readings}) - 1
            started = server.varz.start if server.varz else None
            when = f", last at {started:%Y-%m-%d %H:%M:%S} UTC" if started else ""
            yield failed(
                server.subject,
                f"it was started {f'{starts:,} times' if starts > 1 else 'anew'} between the samples{when}: its leaders"
                " moved, its clients had to connect again" + (", and it does not stay up" if starts > 1 else ""),
                *compared(history.first, server, "server_id"),
                server.observed("start", started),
                severity=Severity.ERROR if starts > 1 else None,
                measured=(starts, 0, "count"),
            )
        else:
            yield passed(history.last.subject)


@check("server_health.restarted_history")
def restarted_history(past: ServerPast) -> Iterator[Finding]:
    """Count the starts over hours and days: one is an info, as of a roll-out; many in a day are a fault."""
    starts: dict[str, dict[int, datetime]] = defaultdict(dict)
    for server in (server for sample in past.samples for server in sample.servers):
        if started := started_at(server):
            starts[server.name][round(started.timestamp())] = started
    for server in past.samples[-1].servers:
        start_times = list(starts[server.name].values())
        restarts = len(start_times) - 1
        if restarts < 1:
            if start_times:
                yield passed(server.subject)
            continue
        since = past.samples[0].at
        lately = sum(1 for start in start_times[1:] if server.at - start <= _OFTEN_WITHIN)
        often = lately >= _OFTEN_STARTS
        yield failed(
            server.subject,
            f"it was started {times(restarts)} since {since:%Y-%m-%d %H:%M} UTC, last at"
            f" {start_times[-1]:%Y-%m-%d %H:%M:%S} UTC" + (": it does not stay up" if often else ""),
            *(server.observed("start", start) for start in start_times),
            severity=None if often else Severity.INFO,
            measured=(lately, _OFTEN_STARTS, "count"),
        )


@check("server_health.restarted_lately")
def restarted_lately(servers: Servers, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """Infos for a server that started alone lately, and for all servers of a domain, if their streams are older.

    Servers are compared with those of their own JetStream domain.
    """
    domains: dict[str, list[Server]] = defaultdict(list)
    for server in servers.servers:
        domains[server.domain].append(server)
    for domain in sorted(domains):
        yield from _domain_findings(domains[domain], _oldest_data(snapshots, domain), len(domains) == 1, params)


def _domain_findings(
    servers: Sequence[Server], oldest: datetime | None, only_domain: bool, params: Params
) -> Iterator[Finding]:
    uptimes = {server.name: up for server in servers if (up := uptime_ns(server)) is not None}
    known = [server for server in servers if server.name in uptimes]
    recent = params.integer("recent")
    whole = known and all(len(known) >= server.meta.cluster_size for server in known if server.meta)
    if whole and max(uptimes.values()) < recent and _is_older(oldest, known, params.integer("recent_data")):
        yield _all_at_once(known, uptimes, oldest, only_domain)
        return
    for server in known:
        uptime, others = uptimes[server.name], [up for name, up in uptimes.items() if name != server.name]
        # A clock that was set back after the start makes an uptime negative: that is no recent start.
        started_lately = 0 <= uptime < recent
        started_alone = bool(others) and min(others) > _UPTIME_FACTOR * uptime
        if not (started_lately and started_alone):
            yield passed(server.subject)
            continue
        yield failed(
            server.subject,
            f"it started {span(uptime)} ago, the others have been up for {span(min(others))} or longer: was that"
            " planned?",
            server.observed("start", server.varz.start if server.varz else None),
            severity=Severity.INFO,
            between=(server.varz.start if server.varz else None, None),
        )


def _oldest_data(snapshots: SnapshotSeries | None, domain: str) -> datetime | None:
    streams = snapshots.last.streams if snapshots else ()
    return min((s.created for s in streams if s.created and s.domain in ("", domain)), default=None)


def _is_older(oldest: datetime | None, servers: Sequence[Server], margin_ns: int) -> bool:
    """Whether there were streams long before the first of these servers started."""
    starts = [started for server in servers if (started := started_at(server))]
    return oldest is not None and (min(starts) - oldest).total_seconds() * 1e9 > margin_ns


def _all_at_once(
    servers: Sequence[Server], uptimes: dict[str, int], oldest: datetime | None, only_domain: bool
) -> Finding:
    first, last, domain = max(uptimes.values()), min(uptimes.values()), servers[0].domain
    if len(servers) == 1:
        who = f"the only server started {span(first)} ago"
    else:
        oldest_text, newest_text = span(first), span(last)
        when = f"{oldest_text} ago" if oldest_text == newest_text else f"between {oldest_text} and {newest_text} ago"
        who = f"all {len(servers):,} servers started {when}"
    return failed(
        servers[0].subject if len(servers) == 1 else CLUSTER if only_domain else Subject(kind="cluster", name=domain),
        f"{who}, and there are older streams: nothing could be published while they were down",
        *(server.observed("start", server.varz.start if server.varz else None) for server in servers),
        servers[0].observed("oldest stream", oldest),
        severity=Severity.INFO,
    )


_BROKEN = ("unclean", "interrupted")
_CRASHES = 2
"""Fewest unclean ends of a crash loop; starts after ordered stops are the work of an operator or a watchdog."""
_RUNS_SHOWN = 3
_PANIC_CHARACTERS = 120


@check("server_health.restarted_logged")
def restarted_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Judge how processes ended: only the next start shows a killed one, and an ordered stop is no fault."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    several = [loop for loop in logs.crash_loops if loop.unclean >= _CRASHES]
    loops = {loop.server: loop for loop in sorted(several, key=lambda loop: loop.starts)}
    others = {loop.server: loop for loop in sorted(logs.crash_loops, key=lambda loop: loop.starts)}
    for server in dict.fromkeys(run.server for run in logs.runs):
        runs = index_of(logs).runs_of(server)
        broken = [run for run in runs if run.end in _BROKEN or run.panic]
        if broken or server in loops:
            yield _finding(server, runs, broken, loops.get(server))
        elif server in others:
            yield _stopped_and_started(others[server], runs)
        else:
            yield passed(Subject(kind="server", name=server))


def _finding(server: str, runs: Sequence[ProcessRun], broken: Sequence[ProcessRun], loop: CrashLoop | None) -> Finding:
    panics = [run for run in broken if run.panic]
    doubtful = not panics and loop is None and not any(run.same_file for run in broken)
    severity = Severity.ERROR if loop or panics else Severity.INFO if doubtful else None
    last = (broken or runs)[-1]
    return failed(
        Subject(kind="server", name=server),
        "; ".join(_message_parts(broken, panics, loop, last))
        + ("; perhaps only the file that reports its end is missing" if doubtful else ""),
        *(_observed(run) for run in (broken or runs)[-_RUNS_SHOWN:]),
        severity=severity,
        measured=(len(broken) if loop is None else len(broken) or loop.starts, 0, "count"),
        between=(zoned((broken or runs)[0].last), zoned(last.last)),
    )


def _stopped_and_started(loop: CrashLoop, runs: Sequence[ProcessRun]) -> Finding:
    """An info: the log does not show who stops it."""
    return failed(
        Subject(kind="server", name=loop.server),
        f"it was stopped in order and started {times(loop.starts)}{when(loop.began, loop.ended)}: by an operator, or by"
        " a watchdog that does not wait until it has recovered",
        *(_observed(run) for run in runs[-_RUNS_SHOWN:]),
        severity=Severity.INFO,
        measured=(loop.starts, 0, "count"),
        between=(zoned(loop.began), zoned(loop.ended)),
    )


def _message_parts(
    broken: Sequence[ProcessRun], panics: Sequence[ProcessRun], loop: CrashLoop | None, last: ProcessRun
) -> Iterator[str]:
    if loop:
        yield f"it was started {times(loop.starts)}{when(loop.began, loop.ended)}: it does not stay up"
    if panics:
        yield f"it crashed {times(len(panics))}, last with `{panics[-1].panic[:_PANIC_CHARACTERS]}`"
    if rest := len(broken) - len(panics):
        what = "a process" if rest == 1 else f"{rest:,} processes"
        yield f"{what} ended silently, last at {last.last}: killed (out of memory, kill -9), or the host went away"


def _observed(run: ProcessRun) -> Observation:
    line = run.exemplar
    return Observation(line.file if line else run.server, "last line of the process", str(run.last), zoned(run.last))


@check("server_health.crash_logged")
def crash_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report crashes from stack traces without a log; with a log `restarted_logged` does.

    Stack lines need a panic, as /stacksz prints the same functions, or begin with it where log viewers join lines.
    """
    crashed = any(run.panic for run in logs.runs) and not logs.has_server_logs
    for burst in bursts(logs, "server-panic-frame", subjects=by_server, calm=False) if crashed else ():
        yield finding_of(burst, f"nats-server crashed in {_frame(burst)}", Severity.ERROR)
    for burst in bursts(logs, "server-panic-line", subjects=by_server, calm=False) if not logs.has_server_logs else ():
        yield finding_of(burst, f"nats-server crashed in {_frame(burst)}", Severity.ERROR)
    for burst in bursts(logs, "monitoring-panic", subjects=by_server, calm=False):
        yield finding_of(
            burst, f"a request to the monitoring port crashed: {burst.story}; the server goes on", Severity.WARNING
        )


def _frame(burst: Burst) -> str:
    """The function that crashed: the first one that the lines name."""
    frames = (dict(line.fields).get("frame") for item in burst.found for line in item.exemplars)
    return next((frame.removeprefix("github.com/nats-io/nats-server/") for frame in frames if frame), "some function")
