"""JSD806: connections that were cut off for reading too slowly, as their server logged it (at level INF)."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import by_server, finding_of, is_recent
from jsdoctor.checks.logs.words import listed, no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence, Occurrence
from jsdoctor.model.params import Params

_SLOW = ("slow-consumer-pending", "slow-consumer-deadline")
_LINKS = {"rid": "routes", "gid": "gateways", "lid": "leaf nodes"}


@check("server_health.slow_consumer_logged")
def slow_consumer_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Lines "Detected" and, of links that may recover, "State" (client.go queueOutbound, handleWriteTimeout)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = bursts(logs, *_SLOW, subjects=by_server, calm=False)
    for burst in found:
        yield _finding(logs, burst, params.integer("recent") // 1000)
    if not found:
        yield passed(CLUSTER)


def _finding(logs: LogEvidence, burst: Burst, recent_us: int) -> Finding:
    links = [one for one in burst.found if one.value("kind") in _LINKS]
    recent = is_recent(logs, burst, recent_us)
    if links:
        kinds = listed(_LINKS[one.value("kind")] for one in links)
        message = (
            f"it could not write to {kinds} of {listed(one.value('address') for one in links)} ({burst.story}): that"
            " server or the network to it is too slow; leader changes and replicas that fall behind follow"
        )
        return finding_of(burst, message, Severity.ERROR if recent else Severity.WARNING)
    if not any(one.value("kind") for one in burst.found):
        message = (
            f"connections were cut off for reading too slowly ({burst.story}); the lines do not tell which: a client"
            " loses what core NATS sends it meanwhile, a route or leaf node its link"
        )
        return finding_of(burst, message, None if recent else Severity.INFO)
    message = (
        f"clients were cut off for reading too slowly ({burst.story}), from {burst.values('address')}{_who(burst)}:"
        " they lost what core NATS sent them meanwhile and had to connect again"
    )
    return finding_of(burst, message, None if recent else Severity.INFO)


def _who(burst: Burst) -> str:
    names = {name for one in burst.found for name in _logins(one)}
    return f" ({listed(names)})" if names else ""


def _logins(one: Occurrence) -> Iterator[str]:
    """Account, user and library of the lines that are kept; from 2.11 on the server names them."""
    for line in one.exemplars:
        known = dict(line.fields)
        if known.get("login"):
            yield f"{known['login']}, {known.get('library', '')}"
