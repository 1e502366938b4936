"""JSD803: JetStream is configured on a server and off, or runs there outside the cluster's meta group.

From logs: JetStream was switched off on a server that went on running, according to its log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.cluster_health.raft import UNKNOWN_NAME, meta_groups
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.log_incidents import log_incidents
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.health import is_jetstream_off, uptime_ns
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.log import LogEvidence, ProcessRun
from jsdoctor.model.params import Params
from jsdoctor.model.release import release
from jsdoctor.model.server import Server, Servers


@check("server_health.jetstream_disabled")
def jetstream_disabled(servers: Servers, params: Params) -> Iterator[Finding]:
    """Find servers that switched JetStream off, as they could not write or were removed (DisableJetStream).

    Servers without JetStream in a JetStream cluster are legal and have the same jsz, but their health check passes.
    """
    peers = {peer.name for server in servers.servers if server.meta for peer in server.meta.replicas}
    outside = _outsiders(servers)
    for server in servers.servers:
        if is_jetstream_off(server):
            yield _off(server, _SWITCHED_OFF if server.name in peers else _OFF_OR_REMOVED)
        elif server.jetstream is None:
            yield unknown(server.subject, "its JetStream figures were not read", "see the gaps of this run")
        elif not server.jetstream.disabled:
            yield _running(server, outside.get(server.name), params.integer("start_up"))
        elif server.name in peers:
            yield _off(server, _UNKNOWN if server.health is None else _NOT_CONFIGURED)
        elif server.health is None:
            yield unknown(server.subject, "no JetStream, and its health was not read", "see the gaps of this run")


def _running(server: Server, leader: Server | None, start_up_ns: int) -> Finding:
    """Judge a server with JetStream. `leader`: the leader of the meta group if that does not count this server."""
    if leader is None:
        return passed(server.subject)
    uptime = uptime_ns(server)
    if uptime is not None and uptime >= start_up_ns:
        return failed(
            server.subject,
            "it runs JetStream and is no member of the meta group: no stream or consumer is placed on it."
            f" {_readmission(leader, uptime)}",
            server.observed("meta_cluster.leader", server.meta.leader if server.meta else None),
            severity=Severity.WARNING,
        )
    return unknown(
        server.subject, "it started a moment ago and is no member of the meta group yet", "run again in a minute"
    )


_CONFIGURED = "JetStream is configured on this server and off:"
_WHICH = "switched it off; its log shows which; restart it when that is fixed"
_SWITCHED_OFF = (
    f"{_CONFIGURED} it is still a member of the meta group, so it was not removed: a full disk, a failed write, a store"
    f" that it may not write or a failed restart of JetStream {_WHICH}"
)
_OFF_OR_REMOVED = (
    f"{_CONFIGURED} a full disk, a failed write, a store that it may not write, a failed restart of JetStream or its"
    f" removal from the cluster while it ran {_WHICH}"
)
_NOT_CONFIGURED = (
    "it runs without JetStream, and the meta group counts it as a member: its health check passes, so its "
    "configuration has no jetstream block now"
)
_UNKNOWN = (
    "it runs without JetStream, and the meta group counts it as a member: either its configuration has no jetstream "
    "block now, or it was switched off; its health check, which was not read, would tell"
)


def _off(server: Server, text: str) -> Finding:
    return failed(
        server.subject,
        text,
        server.observed("jsz.disabled", bool(server.jetstream and server.jetstream.disabled)),
        server.observed("healthz.status", server.health.status if server.health else None),
        advice="Give it its jetstream block back and restart it, or remove it from the cluster if that is meant."
        if text is _NOT_CONFIGURED
        else "",
    )


_CAUSES = {
    "jetstream-out-of-resources": "it could not write for lack of space (the disk is full, or looked so)",
    "jetstream-removed-from-cluster": "the server was removed from the cluster while it ran",
    "jetstream-write-forbidden": "it may not write to its store directory",
    "jetstream-restart-failed": "it could not start again",
}
_SHUTDOWN_US = 5_000_000


_READMITTED_NS = 360_000_000_000
"""A leader ignores a removed server for five minutes, and adds it at its next heartbeat: a minute more."""


def _outsiders(servers: Servers) -> dict[str, Server]:
    """By name, servers that follow a meta leader which does not list them in any sample; each with that leader."""
    leaders: dict[str, Server] = {}
    for group in meta_groups(servers):
        samples = [_outsiders_in_sample(sample) for sample in group.samples]
        leaders |= {name: leader for name, leader in samples[-1].items() if all(name in sample for sample in samples)}
    return leaders


def _outsiders_in_sample(sample: Sequence[Server]) -> dict[str, Server]:
    leaders = {server.name: server for server in sample if server.meta and server.meta.leader == server.name}
    return {
        server.name: leader
        for server in sample
        if server.meta and (leader := leaders.get(server.meta.leader)) and not server.shares_its_name
        if server is not leader and not _may_know(leader, server.name)
    }


def _may_know(leader: Server, name: str) -> bool:
    """Whether a leader lists a server, or a peer whose name it does not know yet, which may be that server."""
    peers = leader.meta.replicas if leader.meta else ()
    return any(peer.name == name or peer.name.startswith(UNKNOWN_NAME) for peer in peers)


def _readmission(leader: Server, uptime_ns: int) -> str:
    """How an outsider becomes a member, by the leader's version and its own uptime, as a sentence.

    A removed server was started after its removal (server: raft.go trackPeer, peerRemoveTimeout).
    """
    version = release(leader.version)
    if version and not (version >= (2, 11, 2) or (2, 10, 28) <= version < (2, 11)):
        return (
            "If it was left out when the cluster was first started, restart it. If it was removed, upgrade the other"
            " servers or restart them, one at a time: a leader older than 2.10.28 or 2.11.2 does not add it again"
        )
    if version and uptime_ns < _READMITTED_NS:
        return (
            "If it was removed, the leader adds it again within six minutes of the removal. If it was left out when"
            " the cluster was first started, restart it"
        )
    return "It was removed, or left out when the cluster was first started; restart it"


@check("server_health.disabled_logged", lines_of="servers")
def disabled_logged(logs: LogEvidence) -> Iterator[Finding]:
    """JetStream stays off until the server restarts, so the next start ends it (jetstream.go DisableJetStream)."""
    explained: set[str] = set()
    for incident in log_incidents(logs, *_CAUSES, calm=False):
        explained.add(incident.subject.name)
        causes = list(dict.fromkeys(_CAUSES[interval.signature] for interval in incident.intervals))
        lasting = any(interval.resolved is None for interval in incident.intervals)
        ended = Severity.WARNING
        yield finding_of(
            incident,
            f"JetStream was switched off on this server: {'; '.join(causes)}. {incident.story.capitalize()}."
            + (" It stays off until the server is started again" if lasting else " The server was started again since"),
            None if lasting else ended,
        )
    silent = [run for run in logs.runs if _ran_on_without_jetstream(run) and run.server not in explained]
    for run in {run.server: run for run in silent}.values():
        later = run is not logs.runs_of(run.server)[-1]
        line = run.exemplar
        why = (
            "a reload of its configuration did it, which has no jetstream block then"
            if _by_reload(run)
            else "the log has no reason"
        )
        yield failed(
            Subject(kind="server", name=run.server),
            f"JetStream was shut down at {run.jetstream_stopped} and the server went on without it; {why}"
            + (". It was started again since" if later else ""),
            Observation(line.file if line else run.server, "jetstream_stopped", str(run.jetstream_stopped)),
            severity=Severity.WARNING if later else None,
        )


def _ran_on_without_jetstream(run: ProcessRun) -> bool:
    stopped = run.jetstream_stopped
    return stopped is not None and (
        _by_reload(run) or (run.last is not None and run.last.us - stopped.us > _SHUTDOWN_US)
    )


def _by_reload(run: ProcessRun) -> bool:
    """Whether a reload stopped JetStream: its last line is right after the shutdown, and a stopping server has none."""
    stopped, reloaded = run.jetstream_stopped, run.reloaded
    return stopped is not None and reloaded is not None and 0 <= reloaded.us - stopped.us <= _SHUTDOWN_US
