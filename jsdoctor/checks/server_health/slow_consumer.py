"""JSD806: clients, routes or leaf nodes that do not read what they are sent, so that the server cut them off.

From logs: connections that were cut off for reading too slowly, as their server logged it (at level INF).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import by_server, listed
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import closed_within, name_of
from jsdoctor.model.connections import ClientConnection, Connections
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed, unknown
from jsdoctor.model.log import LogEvidence, Occurrence
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers, Varz
from jsdoctor.model.server_past import ServerPast
from jsdoctor.model.trend import ServerHistory, ServerTrend

_REASON = "Slow Consumer"
_KINDS = ("clients", "routes", "gateways", "leafs")
_SHOWN = 3
_NONE_LATELY = ", none lately as far as can be seen"


@check("server_health.slow_consumer")
def slow_consumer(
    servers: Servers,
    trend: ServerTrend | None,
    connections: Connections | None,
    past: ServerPast | None,
    params: Params,
) -> Iterator[Finding]:
    """Judge the growth of the counts, and connections closed lately; the counts themselves are since the start."""
    histories = {history.last.name: history for history in (trend.servers if trend else ())}
    lists = {listed.server: listed for listed in (connections.servers if connections else ())}
    for server in servers.servers:
        if server.varz is None:
            yield unknown(server.subject, "its variables were not read", "see the gaps of this run")
            continue
        window_ns = params.integer("recent")
        growth, lately = _growth(histories.get(server.name)), _growth(_history_within(past, server.name, window_ns))
        listed = lists.get(server.name)
        cut_off = _slow_consumers(listed.closed or () if listed else ())
        recent = _slow_consumers(closed_within(listed, window_ns) if listed else ())
        if growth:
            yield _finding(server, growth, recent, "between the samples")
        elif lately or recent:
            yield _finding(server, lately, recent, "lately")
        elif server.varz.slow_consumers:
            yield _counted_finding(server, server.varz, cut_off, _last_growth(past, server.name))
        else:
            yield passed(server.subject)


def _by_kind(varz: Varz) -> dict[str, int]:
    """The counts by kind of connection; servers before 2.9 report one number, which is taken for clients."""
    stats = varz.slow_consumer_stats
    counts = {kind: getattr(stats, kind) for kind in _KINDS} if stats else {"clients": varz.slow_consumers}
    return {kind: count for kind, count in counts.items() if count}


def _growth(history: ServerHistory | None) -> dict[str, int]:
    if history is None or history.restarted or not (history.first.varz and history.last.varz):
        return {}
    before, after = _by_kind(history.first.varz), _by_kind(history.last.varz)
    grown = {kind: count - before.get(kind, 0) for kind, count in after.items()}
    return {kind: count for kind, count in grown.items() if count > 0}


def _readings(past: ServerPast | None, name: str) -> list[Server]:
    return [server for sample in (past.samples if past else ()) for server in sample.servers if server.name == name]


def _history_within(past: ServerPast | None, name: str, window_ns: int) -> ServerHistory | None:
    """The readings of the past that lie in the window before the last one."""
    readings = _readings(past, name)
    recent = tuple(reading for reading in readings if (readings[-1].at - reading.at).total_seconds() * 1e9 <= window_ns)
    return ServerHistory(recent) if recent else None


def _last_growth(past: ServerPast | None, name: str) -> str:
    """When a count grew the last time, as half a sentence; empty if past samples do not show it."""
    for before, after in reversed(list(pairwise(_readings(past, name)))):
        if _growth(ServerHistory((before, after))):
            return f", the last between {before.at:%Y-%m-%d %H:%M} and {after.at:%H:%M} UTC"
    return ""


def _slow_consumers(connections: Iterable[ClientConnection]) -> list[ClientConnection]:
    return [connection for connection in connections if connection.reason.startswith(_REASON)]


def _counts_text(counts: dict[str, int]) -> str:
    """Such as `clients 2, routes 1`: a slow connection can count twice."""
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.items())


def _who(cut_off: Sequence[ClientConnection]) -> str:
    """Such as `APP/mailer (10.0.0.7:4711) at 12:00:01 UTC (Pending Bytes)`."""
    texts = [
        f"{name_of(connection)}{f' at {connection.stop:%H:%M:%S} UTC' if connection.stop else ''} "
        f"{connection.reason.removeprefix(_REASON).strip()}"
        for connection in cut_off[:_SHOWN]
    ]
    more = f" and {len(cut_off) - _SHOWN:,} more" if len(cut_off) > _SHOWN else ""
    return "; ".join(texts) + more


def _finding(server: Server, growth: dict[str, int], recent: Sequence[ClientConnection], when: str) -> Finding:
    links = any(kind != "clients" for kind in growth)
    lost = sum(growth.values()) or len(recent)
    cut_off = f"slow readers were cut off {when}" + (f" ({_counts_text(growth)})" if growth else "")
    effect = (
        "what goes over that link is late or lost, and leader elections may follow"
        if links
        else "they lose what core NATS sent them meanwhile and must connect again"
    )
    return failed(
        server.subject,
        f"{cut_off}{f': {_who(recent)}' if recent else ''}; {effect}",
        *_evidence(server),
        *_observed(server, recent),
        severity=Severity.ERROR if links else None,
        measured=(lost, 0, "count"),
        remedy={"reason": recent[0].reason} if recent else {},
    )


def _counted_finding(server: Server, varz: Varz, cut_off: Sequence[ClientConnection], last: str) -> Finding:
    since = f" since it started on {varz.start:%Y-%m-%d %H:%M} UTC" if varz.start else ""
    who = f"; the last were {_who(cut_off)}" if cut_off else ""
    return failed(
        server.subject,
        f"slow readers were counted{since} ({_counts_text(_by_kind(varz))}){last or _NONE_LATELY}{who}",
        *_evidence(server),
        *_observed(server, cut_off),
        severity=Severity.INFO,
        measured=(varz.slow_consumers, 0, "count"),
        remedy={"reason": cut_off[0].reason} if cut_off else {},
    )


def _evidence(server: Server) -> Iterator[Observation]:
    for kind, count in _by_kind(server.varz).items() if server.varz else ():
        yield server.observed(f"slow_consumer_stats.{kind}", count)
    yield server.observed("start", server.varz.start if server.varz else None)


def _observed(server: Server, cut_off: Sequence[ClientConnection]) -> Iterator[Observation]:
    for connection in cut_off[:_SHOWN]:
        yield server.observed(f"connz.closed[cid {connection.cid}].reason", connection.reason)
        yield server.observed(f"connz.closed[cid {connection.cid}].stop", connection.stop)


_SLOW = ("slow-consumer-pending", "slow-consumer-deadline")
_LINKS = {"rid": "routes", "gid": "gateways", "lid": "leaf nodes"}


@check("server_health.slow_consumer_logged", lines_of="servers")
def slow_consumer_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Report slow connections, by the lines "Detected" and, for links, "State" (client.go handleWriteTimeout)."""
    for burst in bursts(logs, *_SLOW, subjects=by_server, calm=False):
        yield _finding_logged(logs, burst, params.integer("recent") // 1000)


def _finding_logged(logs: LogEvidence, burst: Burst, recent_us: int) -> Finding:
    """One finding for a server: its links, its clients and what the lines do not name, each by its own lines."""
    by_kind: dict[Callable[[Burst], str], list[Occurrence]] = {_links_text: [], _clients_text: [], _unnamed_text: []}
    for occurrence in burst.found:
        kind = occurrence.value("kind")
        by_kind[_links_text if kind in _LINKS else _clients_text if kind else _unnamed_text].append(occurrence)
    messages, severities = [], []
    for text, found in by_kind.items():
        if found:
            part = replace(burst, found=tuple(found), count=sum(occurrence.count for occurrence in found))
            recent = is_recent(logs, part, recent_us)
            usual = (Severity.WARNING, Severity.ERROR) if text is _links_text else (Severity.INFO, Severity.WARNING)
            messages.append(text(part))
            severities.append(usual[recent])
    worst = max(severities, key=lambda severity: severity.rank)
    return finding_of(burst, "; ".join(messages), None if worst is Severity.WARNING else worst)


def _links_text(burst: Burst) -> str:
    kinds = listed(_LINKS[occurrence.value("kind")] for occurrence in burst.found)
    return (
        f"it could not write to {kinds} of {burst.values('address')} ({burst.story}): that server or the network to it"
        " is too slow; leaders may change and replicas fall behind"
    )


def _clients_text(burst: Burst) -> str:
    return (
        f"clients were cut off for reading too slowly ({burst.story}), from {burst.values('address')}"
        f"{_who_logged(burst)}: they lost what core NATS sent them meanwhile and had to connect again"
    )


def _unnamed_text(burst: Burst) -> str:
    return (
        f"connections were cut off for reading too slowly ({burst.story}); the lines do not tell which: a client"
        " loses what core NATS sends it meanwhile, a route or leaf node its link"
    )


def _who_logged(burst: Burst) -> str:
    names = {name for occurrence in burst.found for name in _logins(occurrence)}
    return f" ({listed(names)})" if names else ""


def _logins(occurrence: Occurrence) -> Iterator[str]:
    """Account, user and library of the lines that are kept; from 2.11 on the server names them."""
    for line in occurrence.exemplars:
        known = dict(line.fields)
        if known.get("login"):
            yield ", ".join(known[name] for name in ("login", "library") if known.get(name))
