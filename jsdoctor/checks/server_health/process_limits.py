"""JSD829 and JSD830: limits of the host that a server process is close to, or that stop it."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.host import HostFacts, ServerProcess
from jsdoctor.model.params import Params

_MIN_PERIODS = 10
"""Fewest periods that are judged: a second of work, as a period is 100 ms by default. Idle periods do not count."""
_HOW_TO_COMPARE = "run --this-host with --samples 2 and an --interval of 5s or more"


@check("server_health.open_files_near_limit")
def open_files_near_limit(host: HostFacts, params: Params) -> Iterator[Finding]:
    """Compare the open files and connections of each server with its soft limit."""
    share_allowed = params.number("max_share")
    for number, server in enumerate(host.last.processes):
        if server.open_files is None or not server.max_open_files:
            yield server.unread("the open files of its process")
            continue
        share = server.open_files / server.max_open_files
        if share < share_allowed:
            yield passed(server.subject)
            continue
        place = f"processes[{number}]"
        yield failed(
            server.subject,
            f"it has {server.open_files:,} files and connections open and may have {server.max_open_files:,}",
            host.last.observed(f"{place}.open_files", server.open_files),
            host.last.observed(f"{place}.max_open_files", server.max_open_files),
            measured=(share, share_allowed, "ratio"),
        )


@check("server_health.processor_limit_reached")
def processor_limit_reached(host: HostFacts, params: Params) -> Iterator[Finding]:
    """Judge how often the processor limit of its cgroup stopped each server between two readings."""
    share_allowed = params.number("max_share")
    earlier = {server.pid: server for server in host.readings[0].processes} if len(host.readings) > 1 else {}
    for number, server in enumerate(host.last.processes):
        if server.cpu_periods is None or server.cpu_throttled is None:
            continue
        since = _since(earlier.get(server.pid), server.cpu_periods, server.cpu_throttled)
        if since is None:
            yield unknown(server.subject, "its process was not there in an earlier reading", _HOW_TO_COMPARE)
            continue
        periods, throttled = since
        if throttled and periods < _MIN_PERIODS:
            reason = f"its processor limit stopped it in {throttled} of {periods} periods, too few to judge"
            yield unknown(server.subject, reason, _HOW_TO_COMPARE)
        elif not throttled or throttled < share_allowed * periods:
            yield passed(server.subject)
        else:
            place = f"processes[{number}]"
            yield failed(
                server.subject,
                f"its processor limit stopped it in {throttled:,} of {periods:,} periods between the samples:"
                " it responds late, and its Raft groups may hold elections",
                host.last.observed(f"{place}.cpu_throttled", server.cpu_throttled),
                host.last.observed(f"{place}.cpu_periods", server.cpu_periods),
                measured=(throttled / periods, share_allowed, "ratio"),
            )


def _since(before: ServerProcess | None, periods: int, throttled: int) -> tuple[int, int] | None:
    """Periods, and throttled periods, since the first reading; None if there is no first reading of the process."""
    if before is None or before.cpu_periods is None or before.cpu_throttled is None:
        return None
    return periods - before.cpu_periods, throttled - before.cpu_throttled
