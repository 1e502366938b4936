"""JSD703: a member of a stream, a consumer or the meta group that its leader has no contact with.

From logs: a server that ended and was not started again while others went on, and peers that were removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from heapq import nlargest

import msgspec

from jsdoctor.checks.cluster_health.peer_reachability import (
    PeerReachability,
    UnreachablePeer,
    being_scaled,
    peer_reachability,
    under_replicated,
)
from jsdoctor.checks.cluster_health.raft import UNKNOWN_NAME, EarlierReadings, members_of, quorum
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.log_incidents import index_of
from jsdoctor.checks.logs.words import cluster_of, no_server_lines, zoned
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.model.finding import (
    CLUSTER,
    Confidence,
    Finding,
    Observation,
    Severity,
    Subject,
    failed,
    passed,
    suspected,
    unknown,
)
from jsdoctor.model.log import LogEvidence, LogServer, LogTime, ProcessRun
from jsdoctor.model.params import Params
from jsdoctor.model.partial import shown_or
from jsdoctor.model.server import ConnectedServer, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.trend import History
from jsdoctor.model.wording import elapsed, joined, listed, span

_SHOWN = 3


@check("cluster_health.replica_offline")
def replica_offline(
    snapshots: SnapshotSeries,
    servers: Servers | None,
    connected: ConnectedServer | None,
    past: History | None,
    params: Params,
) -> Iterator[Finding]:
    """One finding for a server that no leader has contact with; else one for each asset that misses a replica.

    Only the reports of leaders count: followers report each other as never seen (server: raft.go Peers).
    """
    reachability = peer_reachability(snapshots, servers, params.integer("silence"))
    by_asset = _stopped_replicas(reachability, servers)
    samples = (*past.snapshots[:-1], snapshots.last) if past else (snapshots.last,)
    yield from _findings(reachability, by_asset, servers, samples, params)
    history = EarlierReadings(snapshots)
    for stream in snapshots.last.led_streams():
        if stream.is_given and stream.subject not in by_asset and under_replicated(stream, history):
            yield being_scaled(stream, servers, connected, params.integer("settle")) or _unplaced(stream)


@check("cluster_health.meta_peer_offline")
def meta_peer_offline(servers: Servers, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """Members of the meta group, where no stream was seen: `replica_offline` judges both together."""
    if snapshots is None:
        reachability = peer_reachability(None, servers, params.integer("silence"))
        yield from _findings(reachability, {}, servers, (), params)


def _findings(
    reachability: PeerReachability,
    by_asset: Mapping[Subject, Sequence[UnreachablePeer]],
    servers: Servers | None,
    samples: Sequence[ClusterSnapshot],
    params: Params,
) -> Iterator[Finding]:
    answered, halted = _servers_by_name(servers), _without_majority(reachability)
    for name, peers in sorted(reachability.unheard.items()):
        is_up = _is_up(name, reachability, answered)
        if peers_of_server := [unheard for unheard in peers if not is_up or unheard.asset is None]:
            finding = _server_finding(name, peers_of_server, answered.get(name), params.integer("long_silence"), halted)
            yield (
                msgspec.structs.replace(finding, advice=_start_advice(name, samples))
                if name not in answered
                else finding
            )
    # Servers that started a moment ago, with nanoseconds since then.
    long_ns = params.integer("long_silence")
    uptimes = ((name, uptime_ns(server)) for name, server in answered.items())
    restarted = {name: uptime for name, uptime in uptimes if uptime is not None and uptime < long_ns}
    for subject, missing in by_asset.items():
        # Replicas start one after the other: a server that started after the last contact may not have begun this one.
        stopped = [
            member
            for member in missing
            if restarted.get(member.peer.name, member.peer.active_ns) >= member.peer.active_ns
        ]
        if stopped:
            yield _asset_finding(subject, stopped)
            continue
        started = (
            f"{name} started {span(restarted[name])} ago" for name in sorted({member.peer.name for member in missing})
        )
        reason = f"{', '.join(started)}, and its replica there has not been seen since"
        yield unknown(subject, reason, "run again in a minute")
    yield from _judge_others(reachability, params.integer("silence"))


def _without_majority(reachability: PeerReachability) -> frozenset[Subject]:
    """The assets without contact to so many members that the others are no quorum."""
    assets = [member.asset for peers in reachability.unheard.values() for member in peers if member.asset]
    unheard = Counter(asset.subject for asset in assets)
    sizes = {asset.subject: 1 + len(asset.cluster.replicas) for asset in assets if asset.cluster}
    return frozenset(subject for subject, size in sizes.items() if size - unheard[subject] < quorum(size))


def _stopped_replicas(reachability: PeerReachability, servers: Servers | None) -> dict[Subject, list[UnreachablePeer]]:
    """The peers without contact on servers that are up, by asset."""
    answered = _servers_by_name(servers)
    by_asset: dict[Subject, list[UnreachablePeer]] = {}
    for name, peers in sorted(reachability.unheard.items()):
        for unheard in peers if _is_up(name, reachability, answered) else ():
            if unheard.asset:
                by_asset.setdefault(unheard.asset.subject, []).append(unheard)
    return by_asset


def _servers_by_name(servers: Servers | None) -> dict[str, Server]:
    return {server.name: server for server in (servers.servers if servers else ())}


def _is_up(name: str, reachability: PeerReachability, answered: Mapping[str, Server]) -> bool:
    """Whether single replicas stopped and not the server: some leader has contact with it now, or it responds.

    Leaders of other groups may have had contact some seconds before a server was gone, or count from their own
    election. A server that responds to jsdoctor and has no contact with any leader is cut off from the others: one
    finding for the server, whatever it holds.
    """
    missed_by_meta = any(unheard.asset is None for unheard in reachability.unheard[name])
    return name in reachability.prompt or (_takes_part(answered.get(name)) and not missed_by_meta)


def _takes_part(server: Server | None) -> bool:
    return server is not None and server.jetstream is not None and not server.jetstream.disabled


def _judge_others(reachability: PeerReachability, silence_ns: int) -> Iterator[Finding]:
    for name in sorted(reachability.heard - reachability.unheard.keys()):
        if name in reachability.late:
            late_ns = reachability.late[name]
            yield failed(
                Subject(kind="server", name=name),
                f"{name} has not been seen for {span(late_ns)}, and members respond every second:"
                f" a fault from {span(silence_ns)} on",
                severity=Severity.INFO,
                confidence=Confidence.LOW,
                measured=(late_ns, silence_ns, "duration"),
                how_to_get="run again in ten seconds",
            )
        else:
            yield passed(Subject(kind="server", name=name))
    for name in sorted(reachability.undecided):
        why = "no contact in the only sample, or with leaders that have just been elected"
        yield suspected(Subject(kind="server", name=name), why, "run again in ten seconds with --samples 2 or more")


def _server_finding(
    name: str, peers: Sequence[UnreachablePeer], answered: Server | None, long_ns: int, halted: Collection[Subject]
) -> Finding:
    longest = max(unheard.peer.active_ns for unheard in peers)
    flagged = any(unheard.peer.offline for unheard in peers)
    nameless = all(unheard.peer.name.startswith(UNKNOWN_NAME) for unheard in peers)
    who = f"peer {name}, whose name no server knows any more," if nameless else name
    since = f"for {elapsed(longest)}" if longest else "since their leaders took over"
    state = f"{who} has not been seen {since}"
    if answered is not None and answered.jetstream is not None:
        cut = f"{who} responds to jsdoctor, and no leader has seen it {since}, as if the network between them were cut"
        state = f"{who} responds, but its JetStream is off" if answered.jetstream.disabled else cut
    return failed(
        Subject(kind="server", name=name),
        f"{state}: {_consequence(peers, halted)}",
        *_evidence(peers),
        severity=None if flagged or longest >= long_ns else Severity.WARNING,
        measured=(longest or None, long_ns if longest >= long_ns else None, "duration"),
        between=(_last_contact(peers, longest), None),
    )


def _start_advice(name: str, samples: Sequence[ClusterSnapshot]) -> str:
    """Advice to start the server, with the streams that are unavailable until then, if a login of theirs shows them."""
    streams = (stream for sample in samples for stream in sample.streams)
    alone = dict.fromkeys(
        s.subject.label for s in streams if shown_or(partial(_has_only_copy, s, name), otherwise=False)
    )
    silent = [asset.subject for asset in (samples[-1].silent if samples else ()) if not asset.offline]
    streams_silent = [subject.label for subject in silent if subject.kind == "stream"]
    if streams_silent and not alone:
        return f"Start {name}: no server responds for {listed(streams_silent, _SHOWN)}, whose copy may be there."
    if not alone:
        return f"Start {name}. Streams with their only copy there are unavailable: logins of their accounts name them."
    return f"Start {name}: the only copy of {listed(alone, _SHOWN)} is there, unavailable until then."


def _has_only_copy(stream: Stream, server: str) -> bool:
    return members_of(stream) == (server,)


def _consequence(peers: Sequence[UnreachablePeer], halted: Collection[Subject]) -> str:
    named, several = _holdings(peers)
    stopped = [member for member in peers if member.asset and member.asset.subject in halted]
    without = "without a majority, so that nothing is stored or delivered there"
    if stopped and len(stopped) == len(peers):
        return f"{named} {'run' if several else 'runs'} {without}"
    lack = f"{named} {'lack' if several else 'lacks'} one member"
    return f"{lack}, which leaves {_holdings(stopped)[0]} {without}" if stopped else lack


def _holdings(peers: Sequence[UnreachablePeer]) -> tuple[str, bool]:
    """The groups that a server is missing from, and whether it is more than one."""
    counts = Counter(unheard.asset.subject.kind for unheard in peers if unheard.asset)
    parts = [f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in sorted(counts.items(), reverse=True)]
    if any(unheard.asset is None for unheard in peers):
        parts.insert(0, "the meta group")
    return joined(parts), len(parts) > 1 or sum(counts.values()) > 1


def _asset_finding(subject: Subject, missing: Sequence[UnreachablePeer]) -> Finding:
    names = ", ".join(sorted(unheard.peer.name for unheard in missing))
    longest = max(unheard.peer.active_ns for unheard in missing)
    since = f"for {elapsed(longest)}" if longest else "since its leader took over"
    what = f"replica on {names} has not been seen {since}, though that server is up: it stopped, or lacks"
    if len(missing) > 1:
        what = f"replicas on {names} have not been seen {since}, though those servers are up: they stopped, or lack"
    return failed(
        subject,
        f"its {what} a link to the leader",
        *_evidence(missing),
        measured=(longest or None, None, "duration"),
        between=(_last_contact(missing, longest), None),
    )


def _unplaced(stream: Stream) -> Finding:
    have, want = 1 + len(stream.cluster.replicas if stream.cluster else ()), stream.config.num_replicas
    return failed(
        stream.subject,
        f"{have} of {want} replicas are placed: too few servers are there, or have the space and tags for it",
        stream.observed("config.num_replicas", want),
        measured=(have, want, "count"),
    )


def _last_contact(peers: Sequence[UnreachablePeer], longest_ns: int) -> datetime | None:
    """The time of the newest report minus the longest silence; None where no leader ever had contact."""
    reported = [observation.at for unheard in peers for observation in unheard.observed if observation.at]
    return max(reported) - timedelta(microseconds=longest_ns // 1000) if longest_ns and reported else None


def _evidence(peers: Sequence[UnreachablePeer]) -> tuple[Observation, ...]:
    return tuple(observation for unheard in peers[:_SHOWN] for observation in unheard.observed)


_ENDS = {"clean": "stopped in order", "lame duck": "left in lame duck mode", "failed": "ended with a fatal error"}


@check("cluster_health.server_gone_logged")
def server_gone_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Judge the end of each server's log: a process logs that it ends, unless it is killed.

    Whether it came back shows in the rest of its log.
    """
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    newest_by_zone = {has_zone: _two_newest(logs, has_zone) for has_zone in (False, True)}
    for server in logs.servers:
        runs = index_of(logs).runs_of(server.name)
        last = runs[-1].last if runs else None
        others = newest_by_zone[last.zoned] if last else []
        end = next((other.last for other in others if other.name != server.name), None)
        if last is None or end is None or not last.dated or runs[-1].end not in _ENDS:
            continue
        gone_ns = (end.us - last.us) * 1000
        subject = Subject(kind="server", name=server.name)
        yield _gone(subject, runs[-1], gone_ns, end) if gone_ns >= params.integer("gone") else passed(subject)
    if len(logs.servers) == 1 and logs.servers[0].cluster:
        yield unknown(
            CLUSTER, "the log of one server does not tell which others are gone", "name the logs of all servers"
        )
    for burst in bursts(logs, "peers-evicted", "peers-evicted-of", "peer-set-adjusted", subjects=cluster_of):
        effect = "right when servers were taken away for good; those that still run have JetStream switched off"
        yield detailed_finding(burst, "peers were removed from the cluster", effect, Severity.INFO)


def _two_newest(logs: LogEvidence, zoned: bool) -> list[LogServer]:
    """The two servers whose logs end last: for any server, at least one of them is a different one."""
    known = [server for server in logs.servers if server.last is not None and server.last.zoned == zoned]
    return nlargest(2, known, key=lambda server: server.last.us if server.last else 0)


def _gone(subject: Subject, run: ProcessRun, gone_ns: int, end: LogTime) -> Finding:
    return failed(
        subject,
        f"it {_ENDS[run.end]} at {run.last} and did not come back for the {span(gone_ns)} that other servers'"
        " logs go on: its groups ran with one member less; start it, or remove the peer if it is gone for good",
        *((run.exemplar.observed,) if run.exemplar else ()),
        severity=None if run.end == "failed" else Severity.WARNING,
        measured=(gone_ns, None, "duration"),
        between=(zoned(run.last), zoned(end)),
    )
