"""From raw samples to evidence: the one path for live clusters, captured bundles and recorded fixtures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.model.account_claims import AccountClaims, AccountUse, ClaimedLimits
from jsdoctor.model.account_mappings import AccountMappings, Destination, Export, Import, MappedAccount
from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.api_refusals import ApiRefusal, ApiRefusals
from jsdoctor.model.client_addresses import ClientAddresses
from jsdoctor.model.evidence import NOTHING_ANSWERED, ByKind, CollectionFacts, Evidence, EvidenceSet, Gaps
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.host import HostFacts, HostReading
from jsdoctor.model.leader_interest import LeaderInterest
from jsdoctor.model.links import Links
from jsdoctor.model.manifest import RunningConfigurations
from jsdoctor.model.near_subjects import NearSubjects
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.reported import Instant
from jsdoctor.model.server import Accounts, ConnectedServer, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.stored import StoredMessages, advisory_streams
from jsdoctor.model.topology import topology_of
from jsdoctor.model.trend import ServerHistory, ServerTrend, Trend
from jsdoctor.replies.ack_times import ack_times
from jsdoctor.replies.clock import clocks_of, ntp_time
from jsdoctor.replies.decoding import GreetingReply, ReplyError, decode, own_form
from jsdoctor.replies.kubernetes import kubernetes_facts
from jsdoctor.replies.logins import KnownLogin, account_replies, joined_assets
from jsdoctor.replies.merge import merge_streams
from jsdoctor.replies.missing_replies import leaderless, missing_leader_gaps, unreadable, unresponsive_gaps
from jsdoctor.replies.near_subjects import near_subjects
from jsdoctor.replies.opening import Identities, open_reply
from jsdoctor.replies.reports import ServerReports, subscriptions_of
from jsdoctor.replies.stored import stored_messages
from jsdoctor.replies.system import ServerReplies
from jsdoctor.replies.torn import lasting, settled
from jsdoctor.replies.unread import server_gaps, with_unread


class _EarlierFacts:
    """Facts of an earlier sample that later ones lack: the server at each monitoring address, and the logins."""

    def __init__(self) -> None:
        self.identities = Identities()
        self.logins: dict[int, KnownLogin] = {}
        self.raft: list[tuple[RaftMember, ...]] = []
        self.refusals: list[tuple[ApiRefusal, ...]] = []


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
    if known.refusals:
        present.put(ApiRefusals(tuple(known.refusals)))
    present.put(_server_trend(present.of(Servers)))
    _topology(present)
    _clocks(samples, known, present, gaps)
    for number, login in known.logins.items():
        own = [exchange for sample in samples for exchange in sample.exchanges if exchange.login == number]
        _stored(own, login.account, present, gaps)
        _put_times_and_subjects(own, login.account, present, gaps)
    present.put(advisory_streams(present.of(StoredMessages)))
    _put_surroundings(samples, present, gaps)
    # One gap per kind and subject, in order: two samples miss the same thing twice.
    distinct = {(gap.kind, gap.subject): gap for gap in [*gaps, *server_gaps(present.of(Servers), gaps)]}
    present.put(Gaps(tuple(distinct.values())))
    absent = why_absent(samples, len(snapshots))
    return with_unread(EvidenceSet(present, {kind: gap for kind, gap in absent.items() if kind not in present}))


def _snapshot(
    sample: Sample, known: _EarlierFacts, present: ByKind, gaps: list[Gap], unseen: list[Gap]
) -> ClusterSnapshot | None:
    """What the sample shows of assets. `unseen` takes the gaps of single assets, `gaps` all others."""
    servers = ServerReplies()
    servers.add_all(sample.exchanges, known.identities)
    accounts = account_replies(sample.exchanges, known.logins)
    if any(exchange.endpoint is Endpoint.STREAM_LIST for exchange in sample.exchanges):
        known.refusals.append(tuple(refusal for account in accounts.values() for refusal in account.refusals))
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
    connections = reports.connections()
    present.put(connections)
    present.put(subscriptions_of(connections))
    present.put(claims)
    present.put(account_mappings(sample.exchanges, known.identities))
    interest, garbled = own_form(sample.exchanges, Endpoint.SUBSZ, LeaderInterest)
    present.put(interest[-1] if interest else None)
    if (links := reports.links()) is not None:
        before = present.of(Links)
        present.put(links.after(before) if before is not None else links)
    gaps.extend((*reports.gaps, *unread, *(unreadable(exchange, error) for exchange, error in garbled)))


def _topology(present: ByKind) -> None:
    servers = present.of(Servers)
    # A server whose reply lacks its configuration would count as one without JetStream.
    if servers and not any(server.jetstream and "config" in server.jetstream.unseen for server in servers.servers):
        present.put(topology_of(servers, present.of(Links), present.of(SnapshotSeries)))


def _clocks(samples: Sequence[Sample], known: _EarlierFacts, present: ByKind, gaps: list[Gap]) -> None:
    exchanges = [exchange for sample in samples for exchange in sample.exchanges if not exchange.login]
    clocks, unread = clocks_of(exchanges, known.identities)
    true_time, disbelieved = ntp_time(exchanges)
    present.put(clocks)
    present.put(true_time)
    gaps.extend((*unread, *disbelieved))


def _put_surroundings(samples: Sequence[Sample], present: ByKind, gaps: list[Gap]) -> None:
    """What no NATS server reports: the host, Kubernetes, the addresses for clients."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    host, unseen = host_facts(exchanges)
    present.put(host)
    kubernetes, unreadable = kubernetes_facts(exchanges)
    if kubernetes is not None:
        present.put(kubernetes)
        if kubernetes.configurations:
            mounted = tuple(configuration.servers for configuration in kubernetes.configurations)
            present.put(RunningConfigurations(servers=mounted))
    addresses, unread = own_form(exchanges, Endpoint.CLIENT_ADDRESSES, ClientAddresses)
    present.put(addresses[-1] if addresses else None)
    for _, error in unread:
        reason = f"the result of trying the addresses for clients cannot be read: {error}"
        gaps.append(Gap("addresses", CLUSTER, reason, "capture again with --addresses"))
    gaps.extend((*unseen, *unreadable))


def _put_times_and_subjects(own: Sequence[Exchange], account: str, present: ByKind, gaps: list[Gap]) -> None:
    """Add ack times and near subjects of one account to those of the accounts before it."""
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


_OF_NO_ASSETS = {endpoint for kind in KINDS for endpoint in kind.endpoints}


def why_absent(samples: Sequence[Sample], snapshots: int) -> dict[type[Evidence], Gap]:
    """For every kind of evidence the reason that fits if it is missing. `snapshots` is how many snapshots there are."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    gaps = [gap for sample in samples for gap in sample.gaps]
    seen = {exchange.access for exchange in exchanges}
    facts = CollectionFacts(
        samples=len(samples),
        snapshots=snapshots,
        plain=Access.ACCOUNT in seen and not seen & {Access.SYSTEM, Access.MONITOR, Access.PASTED},
        asked_ntp=Access.NTP in seen or any(gap.kind == "ntp" for gap in gaps),
        scanned=any(gap.kind == "scan" for gap in gaps)
        or any(exchange.endpoint is Endpoint.STORED_MESSAGES for exchange in exchanges),
    )
    if all(exchange.endpoint in _OF_NO_ASSETS for exchange in exchanges):
        absent = {kind: NOTHING_ANSWERED if kind.of_deployment else kind.absent(facts) for kind in KINDS}
        return absent if seen else {**absent, ConnectedServer: NOTHING_ANSWERED}
    own = {gap.kind: gap for gap in gaps if not gap.requested}
    return {
        kind: next((own[name] for name in reversed(kind.said_by) if name in own), None) or kind.absent(facts)
        for kind in KINDS
    }


def host_facts(exchanges: Iterable[Exchange]) -> tuple[HostFacts | None, list[Gap]]:
    """The readings, oldest first, and a gap where the host showed no server."""
    readings, unread = own_form(exchanges, Endpoint.HOST, HostReading)
    gaps = [_gap(of.target, f"the reading of host {of.target} cannot be read: {error}") for of, error in unread]
    if not readings:
        return None, gaps
    facts = HostFacts(tuple(sorted(readings, key=lambda reading: reading.at)))
    if not facts.last.processes:
        gaps.append(_gap(facts.last.host, f"no nats-server process is visible on host {facts.last.host}"))
    return facts, gaps


def _gap(host: str, reason: str) -> Gap:
    return Gap(
        kind="host",
        subject=Subject(kind="cluster", name=f"host {host}"),
        reason=reason,
        how_to_get="run --this-host on the host of a server, as root; in a pod, in the server's process namespace",
    )


_LATEST_S = 253_402_300_800
"""The year 10000: what is later is no moment, and no end either."""
_NOT_HERE = "does not exist"
"""A server that never had a client of an account does not know it (server: monitor.go accountInfo)."""


class _Nats(msgspec.Struct, frozen=True):
    limits: ClaimedLimits = ClaimedLimits()


class _Claim(msgspec.Struct, frozen=True):
    nats: _Nats = _Nats()
    exp: int = 0


class _AccountDetail(msgspec.Struct, frozen=True):
    account_name: str = ""
    name_tag: str = ""
    client_connections: int = 0
    leafnode_connections: int = 0
    subscriptions: int = 0
    decoded_jwt: _Claim | None = None
    expired: bool = False


class _AccountzReply(_AccountDetail, frozen=True):
    """The reply that lists accounts, the one about an account, and its content alone, as archives have it."""

    now: Instant | None = None
    account_detail: _AccountDetail | None = None
    accounts: tuple[str, ...] | None = None


def account_claims(exchanges: Iterable[Exchange], identities: Identities) -> tuple[AccountClaims | None, list[Gap]]:
    """The accounts that have a JWT, and gaps for what cannot be read; None if no server was queried."""
    uses: dict[tuple[str, str], AccountUse] = {}
    listed: dict[str, frozenset[str]] = {}
    gaps: list[Gap] = []
    asked = [
        e
        for e in exchanges
        if e.endpoint is Endpoint.ACCOUNTZ and e.access in (Access.SYSTEM, Access.MONITOR, Access.PASTED)
    ]
    for exchange in asked:
        try:
            identity, reply = open_reply(exchange, identities, _AccountzReply)
        except ReplyError as error:
            if _NOT_HERE not in str(error):
                gaps.append(unreadable(exchange, error))
            continue
        if reply.accounts is not None:
            listed[identities.name(identity)] = frozenset(reply.accounts)
        detail = reply.account_detail or reply
        if detail.decoded_jwt is not None:
            at = reply.now or identity.time or exchange.asked_at
            name = identities.name(identity)
            uses[name, detail.account_name] = _use(name, at, detail, detail.decoded_jwt)
    return AccountClaims(tuple(uses[key] for key in sorted(uses)), listed if uses else {}) if asked else None, gaps


def _use(server: str, at: datetime, detail: _AccountDetail, claim: _Claim) -> AccountUse:
    return AccountUse(
        server=server,
        account=detail.account_name,
        name=detail.name_tag,
        at=at,
        clients=detail.client_connections,
        leafs=detail.leafnode_connections,
        subscriptions=detail.subscriptions,
        limits=claim.nats.limits,
        expires=datetime.fromtimestamp(claim.exp, UTC) if 0 < claim.exp < _LATEST_S else None,
        expired=detail.expired,
    )


class _Detail(msgspec.Struct, frozen=True):
    account_name: str = ""
    name_tag: str = ""
    leafnode_connections: int = 0
    mappings: dict[str, tuple[Destination, ...]] | None = None
    exports: tuple[Export, ...] | None = None
    imports: tuple[Import, ...] | None = None


class _ReportedAccount(_Detail, frozen=True):
    """The reply, and its content alone, as archives have it."""

    now: Instant | None = None
    account_detail: _Detail | None = None


def account_mappings(exchanges: Iterable[Exchange], identities: Identities) -> AccountMappings | None:
    """The accounts that servers reported one by one; None if there are none. `assemble` names what cannot be read."""
    accounts: list[MappedAccount] = []
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.ACCOUNTZ or exchange.access is Access.ACCOUNT:
            continue
        try:
            identity, reply = open_reply(exchange, identities, _ReportedAccount)
        except ReplyError:
            continue
        detail = reply.account_detail or reply
        if detail.account_name:
            accounts.append(
                MappedAccount(
                    server=identities.name(identity),
                    cluster=identity.cluster,
                    names=frozenset({detail.account_name, detail.name_tag} - {""}),
                    at=reply.now or identity.time or exchange.asked_at,
                    mappings=detail.mappings or {},
                    exports=detail.exports or (),
                    imports=detail.imports or (),
                    leafs=detail.leafnode_connections,
                )
            )
    return AccountMappings(tuple(accounts)) if accounts else None
