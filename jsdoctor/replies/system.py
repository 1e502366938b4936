"""Replies of servers about themselves (system account and HTTP monitoring) to servers, accounts and stream copies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, TypeVar

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import (
    UNLIMITED,
    Account,
    AccountCalls,
    AccountLimits,
    Accounts,
    Health,
    JetStreamStats,
    Server,
    Servers,
    Tier,
    Varz,
)
from jsdoctor.replies.decoding import AccountDetail, ConsumerReply, JszReply, ReplyError, ServerIdentity, StreamReply
from jsdoctor.replies.domains import Domains, answering, domains_of
from jsdoctor.replies.jsz import ReadJsz, read_jsz
from jsdoctor.replies.merge import ConsumerCopy, StreamCopy, merge_streams
from jsdoctor.replies.missing_replies import members_without_reply, silent_members, unreadable
from jsdoctor.replies.opening import Identities, monitor_base, open_reply
from jsdoctor.replies.peers import renamed, sane_meta
from jsdoctor.replies.torn import Repeated

# A monitoring reply other than VARZ does not name its server, and HEALTHZ does not even give its id.
_READ_FIRST = {Endpoint.VARZ: 0, Endpoint.JSZ: 1, Endpoint.HEALTHZ: 2, Endpoint.JSZ_STREAMS: 3}


class _ShownAccount(NamedTuple):
    """An account as one server shows it: its name here, the label of its domain, the server and the time."""

    name: str
    domain: str
    server: str
    at: datetime
    detail: AccountDetail


class ServerReplies:
    """The replies of each server in one sample. Pass them to `add_all`, then read the rest."""

    def __init__(self) -> None:
        self.gaps: list[Gap] = []
        self.streams: list[StreamCopy] = []
        self.consumers: dict[tuple[str, str], list[ConsumerCopy]] = defaultdict(list)
        self._varz: dict[str, Varz] = {}
        self._health: dict[str, Health] = {}
        self._jsz: dict[str, JszReply] = {}
        self._identity: dict[str, ServerIdentity] = {}
        self._asked_at: dict[str, datetime] = {}
        self._jsz_replies: list[tuple[ServerIdentity, ReadJsz, Exchange]] = []
        self._shown: set[tuple[str, ...]] = set()
        self._domains = Domains()
        self._details: list[_ShownAccount] = []
        self.asked_all = False
        self.again: Repeated | None = None

    def add_all(self, exchanges: Iterable[Exchange], identities: Identities) -> None:
        """Take every server reply. `identities` is shared between samples."""
        asked = (Access.SYSTEM, Access.MONITOR, Access.PASTED)
        replies = [e for e in exchanges if e.access in asked and e.endpoint in _READ_FIRST]
        for exchange in sorted(replies, key=lambda e: _READ_FIRST[e.endpoint]):
            try:
                self._read_reply(exchange, identities)
            except ReplyError as error:
                self.gaps.append(unreadable(exchange, error))
        self._domains = identities.domains = self._find_domains(identities.twins)
        domains = {self._domain(_key(i), read.reply) for i, read, _ in self._jsz_replies if read.reply.account_details}
        several = len(domains) > 1
        for identity, read, exchange in self._jsz_replies:
            self._add_accounts(identity, read, exchange, several)
        self._add_repeated(exchanges, identities, several)

    def _add_repeated(self, exchanges: Iterable[Exchange], identities: Identities, several_domains: bool) -> None:
        """Take the replies to repeated requests for the assets of an account."""
        repeated = [exchange for exchange in exchanges if exchange.endpoint is Endpoint.JSZ_AGAIN]
        if not repeated:
            return
        again = ServerReplies()
        again._domains = self._domains
        newest: dict[tuple[str, str], tuple[ServerIdentity, ReadJsz, Exchange]] = {}
        for exchange in repeated:
            try:
                read = read_jsz(exchange)
            except ReplyError:
                continue  # then the sample's own state stands
            identity = identities.sender(exchange, read.sender)
            for account in read.reply.account_details or ():
                single = msgspec.structs.replace(read.reply, account_details=(account,))
                newest[_key(identity), account.id or account.name] = identity, read._replace(reply=single), exchange
        for identity, read, exchange in newest.values():
            again._add_accounts(identity, read, exchange, several_domains)
        self.again = Repeated(
            {s.key: s for s in merge_streams(again.streams, again.consumers)},
            frozenset(seen.name for seen in again._details),
        )

    def _find_domains(self, twins: set[str]) -> Domains:
        """The JetStream domains of this sample. Adds names that two servers have to `twins`."""
        result = []
        for key, identity in self._identity.items():
            jsz, varz = self._jsz.get(key), self._varz.get(key)
            runs = jsz is not None and not jsz.disabled and jsz.config is not None
            cluster = identity.cluster or (varz.cluster.name if varz and varz.cluster else "")
            named = msgspec.structs.replace(identity, cluster=cluster)
            result.append(answering(named, key, jsz.domain if jsz else "", jsz.meta_cluster if jsz else None, runs))
        return domains_of(result, twins)

    def _domain(self, key: str, jsz: JszReply | None) -> str:
        return self._domains.labels.get(key, jsz.domain if jsz else "")

    def _read_reply(self, exchange: Exchange, identities: Identities) -> None:
        if exchange.endpoint is Endpoint.JSZ_STREAMS:  # only streams: it has nothing about the server itself
            read = read_jsz(exchange)
            self._jsz_replies.append((identities.sender(exchange, read.sender), read, exchange))
            self.asked_all = True
            return
        if exchange.endpoint is Endpoint.VARZ:
            identity, varz = open_reply(exchange, identities, Varz)
            if exchange.access is Access.MONITOR:
                identity = identities.by_address[monitor_base(exchange.target)] = _identity_of(varz)
            self._varz[_key(identity)] = varz
        elif exchange.endpoint is Endpoint.JSZ:
            read = read_jsz(exchange)
            identity = identities.sender(exchange, read.sender)
            if not identity.id:
                identity = msgspec.structs.replace(identity, id=read.reply.server_id)
                identities.by_address[monitor_base(exchange.target)] = identity
            # A server queried in two ways reports the same twice: one copy of its streams is enough.
            # Given replies may each be of another account, or another page.
            if _key(identity) not in self._jsz or exchange.access is Access.PASTED:
                self._jsz.setdefault(_key(identity), read.reply)
                self._jsz_replies.append((identity, read, exchange))
        else:
            identity, health = open_reply(exchange, identities, Health)
            self._health[_key(identity)] = health
        self._identity[_key(identity)] = identity
        self._asked_at[_key(identity)] = exchange.asked_at
        self.asked_all = self.asked_all or exchange.access is Access.SYSTEM

    def _was_shown(self, exchange: Exchange, *shown: str) -> bool:
        """Whether a given reply shows an account or stream of a server that another reply shows, too."""
        known = shown in self._shown
        self._shown.add(shown)
        return known and exchange.access is Access.PASTED

    def _add_accounts(self, identity: ServerIdentity, read: ReadJsz, exchange: Exchange, several_domains: bool) -> None:
        jsz = read.reply
        at, key = jsz.now or exchange.asked_at, _key(identity)
        domain, names = self._domain(key, jsz), self._domains.renamed(key)
        server = names.get(identity.name, identity.name)
        has_meta_leader = jsz.meta_cluster is None or bool(jsz.meta_cluster.leader)
        for account in jsz.account_details or ():
            # The system account reaches over leaf nodes: an account has other streams of the same name in each domain.
            name = f"{account.name}@{domain}" if several_domains and domain else account.name
            if exchange.endpoint is not Endpoint.JSZ_STREAMS and not self._was_shown(exchange, key, name):
                self._details.append(_ShownAccount(name, domain, server, at, account))
            for listed in account.stream_detail or ():
                if self._was_shown(exchange, key, name, listed.config.name):
                    continue
                stream = _renamed(listed, names) if names else listed
                consumers: Iterable[ConsumerReply] = stream.consumer_detail or ()
                # An absent list means none, unless the stream's own count shows that consumers were not requested.
                seen = (account.name, stream.config.name) not in read.partial and (
                    stream.consumer_detail is not None or stream.state.consumer_count == 0
                )
                if names:
                    consumers = [_renamed(consumer, names) for consumer in consumers]
                self.streams.append(StreamCopy(server, name, at, stream, seen, domain, has_meta_leader))
                self.consumers[name, stream.config.name].extend(ConsumerCopy(server, c.ts or at, c) for c in consumers)
        self.gaps.extend(unreadable(exchange, error, server) for error in read.errors)

    @property
    def showed_assets(self) -> bool:
        """Whether any server reported its streams on request, or that it has none."""
        return any(
            read.reply.streams == 0
            or any(account.stream_detail is not None for account in read.reply.account_details or ())
            for _, read, _ in self._jsz_replies
        )

    def servers(self) -> Servers | None:
        """Every server that replied, by name; None if no reply came from a server."""
        if not self._identity:
            return None
        all_servers = [self._server(key) for key in self._identity]
        return Servers(tuple(sorted(all_servers, key=lambda server: server.name)), complete=self.asked_all)

    def _server(self, key: str) -> Server:
        identity, varz, jsz = self._identity[key], self._varz.get(key), self._jsz.get(key)
        at = (jsz and jsz.now) or (varz and varz.now) or identity.time
        name = self._domains.names.get(key, identity.name)
        return Server(
            name=name,
            server_id=identity.id,
            cluster=identity.cluster,
            domain=self._domains.label(key),
            version=identity.ver,
            at=at or self._asked_at[key],
            varz=varz,
            jetstream=_stats(jsz, self._domains.renamed(key)) if jsz else None,
            health=self._health.get(key),
            calls=tuple(
                AccountCalls(view.name, view.detail.api, unseen=view.detail.unseen)
                for view in self._details
                if view.server == name
            ),
        )

    def silent_servers(self) -> list[Gap]:
        """Gaps for members of the meta group that did not respond. Only the system account queries all of them."""
        names = {key: identity.name for key, identity in self._identity.items()}
        missing = silent_members if self.asked_all else members_without_reply
        return missing(
            [(self._domains.label(key), name) for key, name in names.items()],
            ((self._domains.label(key), names[key], jsz) for key, jsz in self._jsz.items()),
        )

    def names_of(self, account: str, domain: str = "") -> set[str]:
        """The names here of an account given by name or, as 2.10 does in operator mode, by its public key.

        `domain` is that of the server that a client is connected to: the account has other streams in each domain.
        """
        names = {seen.name for seen in self._details if account in (seen.detail.name, seen.detail.id)}
        return {account} | {name for name in names if "@" not in name or not domain or name.endswith(f"@{domain}")}

    def accounts(self) -> Accounts | None:
        """Usage per account. Every server reports the account's total as far as it knows it: the highest is newest."""
        streams, consumers = Counter[str](), Counter[str]()
        for (account, _), copies in self.consumers.items():
            streams[account] += 1
            consumers[account] += len({consumer.name for _, _, consumer in copies})
        usage: dict[str, Account] = {}
        for name, domain, server, at, detail in self._details:
            tier = Tier(
                memory=detail.memory,
                storage=detail.storage,
                streams=streams[name],
                consumers=consumers[name],
                unseen=detail.unseen | _unseen_limits(detail),
                limits=AccountLimits(
                    max_memory=_limit(detail.reserved_memory), max_storage=_limit(detail.reserved_storage)
                ),
            )
            known = usage.get(name)
            if known is None or tier.storage + tier.memory > known.tiers[0].storage + known.tiers[0].memory:
                usage[name] = Account(name, (tier,), at, server, domain)
        return Accounts(tuple(usage[name] for name in sorted(usage))) if usage else None


def _key(identity: ServerIdentity) -> str:
    return identity.id or identity.name


def _identity_of(varz: Varz) -> ServerIdentity:
    cluster = varz.cluster.name if varz.cluster else ""
    return ServerIdentity(name=varz.server_name, id=varz.server_id, cluster=cluster, ver=varz.version, time=varz.now)


def _stats(jsz: JszReply, names: Mapping[str, str]) -> JetStreamStats:
    fields = {name: getattr(jsz, name) for name in JetStreamStats.__struct_fields__}
    return JetStreamStats(**fields | {"meta_cluster": renamed(sane_meta(jsz.meta_cluster), names)})


_AssetT = TypeVar("_AssetT", StreamReply, ConsumerReply)


def _renamed(asset: _AssetT, names: Mapping[str, str]) -> _AssetT:
    return msgspec.structs.replace(asset, cluster=renamed(asset.cluster, names))


def _limit(reserved: int) -> int:
    """The limit of an account; -1 for none, which servers report as 2^64-1 (0: see `_unseen_limits`)."""
    return -1 if reserved >= UNLIMITED or reserved == 0 else reserved


def _unseen_limits(detail: AccountDetail) -> frozenset[str]:
    """The limits that JSZ does not show: of an account with limits by tier it shows 0 and 0 (server: accountDetail)."""
    tiered = detail.reserved_memory == detail.reserved_storage == 0
    hidden = {"reserved_memory", "reserved_storage"} if tiered else detail.unseen
    return frozenset(f"limits.{name.replace('reserved', 'max')}" for name in hidden)
