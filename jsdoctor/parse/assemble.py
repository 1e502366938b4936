"""From raw samples to evidence: the one path for live clusters, captured bundles and recorded fixtures."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.evidence import ByKind, EvidenceSet, Gaps
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.gap import Gap
from jsdoctor.model.links import Links
from jsdoctor.model.manifest import RunningConfigurations
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.server import Accounts, ConnectedServer, Server, Servers
from jsdoctor.model.server_trend import ServerHistory, ServerTrend
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.topology import topology_of
from jsdoctor.model.trend import Trend
from jsdoctor.parse.absence import why_absent
from jsdoctor.parse.account_claims import account_claims
from jsdoctor.parse.ack_times import ack_times
from jsdoctor.parse.clock import clocks_of
from jsdoctor.parse.clock_ntp import ntp_time
from jsdoctor.parse.host import host_facts
from jsdoctor.parse.kubernetes import kubernetes_facts
from jsdoctor.parse.logins import KnownLogin, account_replies, joined_assets
from jsdoctor.parse.merge import merge_streams
from jsdoctor.parse.missing_replies import leaderless, missing_leader_gaps, unreadable, unresponsive_gaps
from jsdoctor.parse.near_subjects import near_subjects
from jsdoctor.parse.opening import Identities
from jsdoctor.parse.packets.kept import kept_packets
from jsdoctor.parse.replies import GreetingReply, ReplyError, decode
from jsdoctor.parse.reports import ServerReports
from jsdoctor.parse.stored import stored_messages
from jsdoctor.parse.system import ServerReplies
from jsdoctor.parse.torn import lasting, settled
from jsdoctor.parse.unread import server_gaps, with_unread


class _EarlierFacts:
    """Facts of an earlier sample that later ones lack: the server at each monitoring address, and the logins."""

    def __init__(self) -> None:
        self.identities = Identities()
        self.logins: dict[int, KnownLogin] = {}
        self.raft: list[tuple[RaftMember, ...]] = []


def assemble(samples: Sequence[Sample]) -> EvidenceSet:
    """Turn samples, oldest first, into evidence. Never raises for a bad reply: that becomes a gap."""
    present = ByKind()
    gaps: list[Gap] = []
    snapshots: list[ClusterSnapshot] = []
    unseen: list[list[Gap]] = []
    known = _EarlierFacts()
    for sample in samples:
        gaps.extend(sample.gaps)
        for number in (0, *(exchange.login for exchange in sample.exchanges)):
            known.logins.setdefault(number, KnownLogin())
        _connected(sample, known, present, gaps)
        unseen.append([])
        snapshot = _snapshot(sample, known, present, gaps, unseen[-1])
        _reports(sample, known, present, gaps)
        if snapshot is not None:
            snapshots.append(snapshot)
    if snapshots:
        gaps.extend(gap for of_sample in unseen[:-1] for gap in lasting(of_sample, snapshots[0], snapshots[-1]))
    gaps.extend(gap for of_sample in unseen[-1:] for gap in of_sample)
    if snapshots:
        gaps.extend(leaderless(snapshots[-1]))
        present.put(SnapshotSeries(tuple(snapshots)))
    if len(snapshots) > 1:
        present.put(Trend(tuple(snapshots)))
    if known.raft:
        present.put(RaftGroups(tuple(known.raft)))
    present.put(_server_trend(present.of(Servers)))
    _topology(present)
    _clocks(samples, known, present, gaps)
    for number, login in known.logins.items():
        own = [exchange for sample in samples for exchange in sample.exchanges if exchange.login == number]
        _stored(own, login.account, present, gaps)
        _heard(own, login.account, present, gaps)
    _beside(samples, present, gaps)
    present.put(Gaps(_distinct([*gaps, *server_gaps(present.of(Servers), gaps)])))
    absent = why_absent(samples, len(snapshots))
    return with_unread(EvidenceSet(present, {kind: gap for kind, gap in absent.items() if kind not in present}))


def _snapshot(
    sample: Sample, known: _EarlierFacts, present: ByKind, gaps: list[Gap], unseen: list[Gap]
) -> ClusterSnapshot | None:
    """What the sample shows of assets. `unseen` takes the gaps of single assets, `gaps` all others."""
    servers = ServerReplies()
    servers.add_all(sample.exchanges, known.identities)
    accounts = account_replies(sample.exchanges, known.logins)
    responders: frozenset[str] = frozenset()
    if known_servers := servers.servers():
        present.put(_joined(present.of(Servers), known_servers))
        responders = frozenset(server.name for server in known_servers.servers)
    present.put(_usage(servers, known))
    gaps.extend(
        (*servers.gaps, *(gap for account in accounts.values() for gap in account.gaps), *servers.silent_servers())
    )
    by_system = any(exchange.access is Access.SYSTEM for exchange in sample.exchanges)
    assets = joined_assets(servers, accounts, known.logins, by_system)
    if not (servers.showed_assets or any(account.answered for account in accounts.values())):
        unseen.extend(unresponsive_gaps(assets.silent))
        return None
    streams, silent = merge_streams(assets.copies, assets.consumers), assets.silent
    for again in filter(None, (servers.again, *(account.again for account in accounts.values()))):
        streams, silent = settled(streams, silent, again)
    unreported = (gap for s in streams for gap in missing_leader_gaps(s, responders, servers.asked_all))
    unseen.extend((*unresponsive_gaps(silent), *unreported))
    return ClusterSnapshot(taken_at=sample.taken_at, streams=streams, silent=silent, listed=assets.listed)


def _reports(sample: Sample, known: _EarlierFacts, present: ByKind, gaps: list[Gap]) -> None:
    reports = ServerReports(sample.exchanges, known.identities)
    if (members := reports.raft()) is not None:
        known.raft.append(members)
    claims, unread = account_claims(sample.exchanges, known.identities)
    present.put(reports.connections())
    present.put(claims)
    if (links := reports.links()) is not None:
        before = present.of(Links)
        present.put(links.after(before) if before is not None else links)
    gaps.extend((*reports.gaps, *unread))


def _topology(present: ByKind) -> None:
    if servers := present.of(Servers):
        present.put(topology_of(servers, present.of(Links), present.of(SnapshotSeries)))


def _clocks(samples: Sequence[Sample], known: _EarlierFacts, present: ByKind, gaps: list[Gap]) -> None:
    exchanges = [exchange for sample in samples for exchange in sample.exchanges if not exchange.login]
    clocks, unread = clocks_of(exchanges, known.identities)
    true_time, disbelieved = ntp_time(exchanges)
    present.put(clocks)
    present.put(true_time)
    gaps.extend((*unread, *disbelieved))


def _beside(samples: Sequence[Sample], present: ByKind, gaps: list[Gap]) -> None:
    """What a capture took down beside the replies of servers."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    packets, unread = kept_packets(exchanges)
    present.put(packets)
    host, unseen = host_facts(exchanges)
    present.put(host)
    kubernetes, unreadable = kubernetes_facts(exchanges)
    if kubernetes is not None:
        present.put(kubernetes)
        if kubernetes.configurations:
            mounted = tuple(configuration.servers for configuration in kubernetes.configurations)
            present.put(RunningConfigurations(servers=mounted))
    gaps.extend((*unread, *unseen, *unreadable))


def _heard(own: Sequence[Exchange], account: str, present: ByKind, gaps: list[Gap]) -> None:
    times, unread = ack_times(own, account)
    if times is not None:
        before = present.of(AckTimes)
        present.put(AckTimes((*(before.consumers if before is not None else ()), *times.consumers)))
    near, unreadable_near = near_subjects(own, account)
    if near is not None:
        earlier = present.of(NearSubjects)
        present.put(near.joined(earlier) if earlier is not None else near)
    gaps.extend((*unread, *unreadable_near))


def _stored(own: Sequence[Exchange], account: str, present: ByKind, gaps: list[Gap]) -> None:
    stored, unread = stored_messages(own, account)
    if stored is not None:
        before = present.of(StoredMessages)
        streams = before.streams if before is not None else ()
        present.put(StoredMessages((*streams, *stored.streams)))
    gaps.extend(unread)


def _server_trend(servers: Servers | None) -> ServerTrend | None:
    """Servers by name, as a restarted one has another id; only those with new variables in every sample."""
    if servers is None or not servers.earlier:
        return None
    earlier = [{server.name: server for server in sample} for sample in servers.earlier]
    result = [(*(sample[s.name] for sample in earlier if s.name in sample), s) for s in servers.servers]
    whole = [readings for readings in result if len(readings) > len(earlier) and _is_fresh(readings)]
    return ServerTrend(tuple(ServerHistory(readings) for readings in whole)) if whole else None


def _is_fresh(readings: Sequence[Server]) -> bool:
    """Whether each reading has variables of its own: `_kept` repeats those that a sample did not request."""
    return len({reading.varz.now for reading in readings if reading.varz}) == len(readings)


def _usage(servers: ServerReplies, known: _EarlierFacts) -> Accounts | None:
    """All accounts that servers report; for the account of a login the JetStream API knows more."""
    accounts = servers.accounts()
    rows = list(accounts.accounts) if accounts else []
    for login in known.logins.values():
        if login.usage:
            ours = servers.names_of(login.usage.name, login.domain)
            rows = [row for row in rows if row.name not in ours] + [login.usage]
    return Accounts(tuple(sorted(rows, key=lambda row: row.name))) if rows else None


def _joined(earlier: Servers | None, later: Servers) -> Servers:
    """The newest report of every server; parts that a later sample did not request are kept from the earlier one."""
    if earlier is None:
        return later
    known = {server.server_id: server for server in earlier.servers}
    return Servers(
        tuple(_kept(known.get(s.server_id), s) for s in later.servers),
        later.complete or earlier.complete,
        (*earlier.earlier, earlier.servers),
    )


def _kept(before: Server | None, server: Server) -> Server:
    if before is None:
        return server
    return msgspec.structs.replace(
        server,
        varz=server.varz or before.varz,
        jetstream=server.jetstream or before.jetstream,
        health=server.health or before.health,
    )


def _connected(sample: Sample, known: _EarlierFacts, present: ByKind, gaps: list[Gap]) -> None:
    for exchange in sample.exchanges:
        if exchange.access is Access.CLIENT and exchange.endpoint is Endpoint.CONNECT_INFO:
            try:
                greeting = decode(exchange.body, ConnectedServer)
                if exchange.login == 0 or ConnectedServer not in present:
                    present.put(greeting)
                login = known.logins[exchange.login]
                login.domain = greeting.domain
                login.account = decode(exchange.body, GreetingReply).remote_account
            except ReplyError as error:
                gaps.append(unreadable(exchange, error))


def _distinct(gaps: list[Gap]) -> tuple[Gap, ...]:
    """One gap per kind and subject, in order: two samples miss the same thing twice."""
    return tuple({(gap.kind, gap.subject): gap for gap in gaps}.values())
