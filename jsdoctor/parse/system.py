"""Replies of servers about themselves (system account and HTTP monitoring) to servers, accounts and stream copies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import (
    UNLIMITED,
    Account,
    AccountLimits,
    Accounts,
    Health,
    JetStreamStats,
    Server,
    Servers,
    Tier,
    Varz,
)
from jsdoctor.parse.merge import ConsumerCopy, StreamCopy, merge_streams
from jsdoctor.parse.opening import monitor_base, open_reply
from jsdoctor.parse.peers import sane_meta
from jsdoctor.parse.replies import (
    AccountDetail,
    ConsumerReply,
    JszReply,
    ReplyError,
    ServerIdentity,
    StreamReply,
    decode,
    decode_each,
)
from jsdoctor.parse.torn import Repeated
from jsdoctor.parse.unseen import silent_members, unreadable

# A monitoring reply other than VARZ does not name its server, and HEALTHZ does not even give its id.
_READ_FIRST = {Endpoint.VARZ: 0, Endpoint.JSZ: 1, Endpoint.HEALTHZ: 2, Endpoint.JSZ_STREAMS: 3}


class ServerReplies:
    """Collects what each server said in one sample. Feed it with `add_all`, then read the rest."""

    def __init__(self) -> None:
        self.gaps: list[Gap] = []
        self.streams: list[StreamCopy] = []
        self.consumers: dict[tuple[str, str], list[ConsumerCopy]] = defaultdict(list)
        self._varz: dict[str, Varz] = {}
        self._health: dict[str, Health] = {}
        self._jsz: dict[str, JszReply] = {}
        self._identity: dict[str, ServerIdentity] = {}
        self._asked_at: dict[str, datetime] = {}
        self._told: list[tuple[str, JszReply, Exchange]] = []
        self._details: list[tuple[str, str, datetime, AccountDetail]] = []
        self.asked_all = False
        self.again: Repeated | None = None

    def add_all(self, exchanges: Iterable[Exchange], identities: dict[str, ServerIdentity]) -> None:
        """Take every server reply. `identities` maps monitoring addresses to servers and is shared between samples."""
        own = [e for e in exchanges if e.access in (Access.SYSTEM, Access.MONITOR) and e.endpoint in _READ_FIRST]
        for exchange in sorted(own, key=lambda e: _READ_FIRST[e.endpoint]):
            try:
                self._add(exchange, identities)
            except ReplyError as error:
                self.gaps.append(unreadable(exchange, error))
        several_domains = len({jsz.domain for _, jsz, _ in self._told if jsz.account_details}) > 1
        for server, jsz, exchange in self._told:
            self._add_accounts(server, jsz, exchange, several_domains)
        self._add_repeated(exchanges, identities, several_domains)

    def _add_repeated(
        self, exchanges: Iterable[Exchange], identities: dict[str, ServerIdentity], several_domains: bool
    ) -> None:
        """Take what servers said when they were asked once more for the assets of an account."""
        repeated = [exchange for exchange in exchanges if exchange.endpoint is Endpoint.JSZ_AGAIN]
        if not repeated:
            return
        again = ServerReplies()
        for exchange in repeated:
            try:
                identity, body = open_reply(exchange, identities)
                again._add_accounts(identity.name, decode(body, JszReply), exchange, several_domains)
            except ReplyError:
                continue  # what the sample itself says then stands
        self.again = Repeated(
            {s.key: s for s in merge_streams(again.streams, again.consumers)},
            frozenset(name for name, _, _, _ in again._details),
        )

    def _add(self, exchange: Exchange, identities: dict[str, ServerIdentity]) -> None:
        identity, body = open_reply(exchange, identities)
        if exchange.endpoint is Endpoint.JSZ_STREAMS:  # only streams: it tells nothing of the server itself
            self._told.append((identity.name, decode(body, JszReply), exchange))
            self.asked_all = True
            return
        if exchange.endpoint is Endpoint.VARZ:
            varz = decode(body, Varz)
            if exchange.access is Access.MONITOR:
                identity = identities[monitor_base(exchange.target)] = _identity_of(varz)
            self._varz[_key(identity)] = varz
        elif exchange.endpoint is Endpoint.JSZ:
            jsz = decode(body, JszReply)
            if not identity.id:
                identity = identities[monitor_base(exchange.target)] = ServerIdentity(identity.name, jsz.server_id)
            # A server asked in two ways tells the same twice: one copy of its streams is enough.
            if _key(identity) not in self._jsz:
                self._jsz[_key(identity)] = jsz
                self._told.append((identity.name, jsz, exchange))
        elif exchange.endpoint is Endpoint.HEALTHZ:
            self._health[_key(identity)] = decode(body, Health)
        self._identity[_key(identity)] = identity
        self._asked_at[_key(identity)] = exchange.asked_at
        self.asked_all = self.asked_all or exchange.access is Access.SYSTEM

    def _add_accounts(self, server: str, jsz: JszReply, exchange: Exchange, several_domains: bool) -> None:
        at = jsz.now or exchange.asked_at
        for account in jsz.account_details or ():
            # The system account reaches over leaf nodes: an account has other streams of the same name in each domain.
            name = f"{account.name}@{jsz.domain}" if several_domains and jsz.domain else account.name
            if exchange.endpoint is not Endpoint.JSZ_STREAMS:
                self._details.append((name, server, at, account))
            streams, errors = decode_each(account.stream_detail, StreamReply)
            for stream in streams:
                consumers, more = decode_each(stream.consumer_detail, ConsumerReply)
                errors += more
                # An absent list means none, unless the stream's own count says that consumers were not asked for.
                seen = not more and (stream.consumer_detail is not None or stream.state.consumer_count == 0)
                self.streams.append(StreamCopy(server, name, at, stream, seen))
                self.consumers[name, stream.config.name].extend((server, c.ts or at, c) for c in consumers)
            self.gaps.extend(unreadable(exchange, error, server) for error in errors)

    @property
    def showed_assets(self) -> bool:
        """Whether any server was asked for its streams and answered, be it that it has none."""
        return any(
            jsz.streams == 0 or any(account.stream_detail is not None for account in jsz.account_details or ())
            for _, jsz, _ in self._told
        )

    def servers(self) -> Servers | None:
        """Every server that said anything, by name; None when no reply came from a server."""
        if not self._identity:
            return None
        found = [self._server(key) for key in self._identity]
        return Servers(tuple(sorted(found, key=lambda server: server.name)), complete=self.asked_all)

    def _server(self, key: str) -> Server:
        identity, varz, jsz = self._identity[key], self._varz.get(key), self._jsz.get(key)
        at = (jsz and jsz.now) or (varz and varz.now) or identity.time
        return Server(
            name=identity.name,
            server_id=identity.id,
            cluster=identity.cluster,
            version=identity.ver,
            at=at or self._asked_at[key],
            varz=varz,
            jetstream=_stats(jsz) if jsz else None,
            health=self._health.get(key),
        )

    def silent_servers(self) -> list[Gap]:
        """Members of the meta group that gave no answer. Only the system account asks all of them."""
        if not self.asked_all:
            return []
        names = {key: identity.name for key, identity in self._identity.items()}
        return silent_members(names.values(), ((names[key], jsz) for key, jsz in self._jsz.items()))

    def names_of(self, account: str) -> set[str]:
        """The names here of an account given by name or, as 2.10 does in operator mode, by its public key."""
        return {account} | {name for name, _, _, detail in self._details if account in (detail.name, detail.id)}

    def accounts(self) -> Accounts | None:
        """Usage per account. Every server reports the account's total as far as it has heard: the highest is newest."""
        streams, consumers = Counter[str](), Counter[str]()
        for (account, _), copies in self.consumers.items():
            streams[account] += 1
            consumers[account] += len({consumer.name for _, _, consumer in copies})
        usage: dict[str, Account] = {}
        for name, server, at, detail in self._details:
            tier = Tier(
                memory=detail.memory,
                storage=detail.storage,
                streams=streams[name],
                consumers=consumers[name],
                limits=AccountLimits(
                    max_memory=_limit(detail.reserved_memory), max_storage=_limit(detail.reserved_storage)
                ),
            )
            known = usage.get(name)
            if known is None or tier.storage + tier.memory > known.tiers[0].storage + known.tiers[0].memory:
                usage[name] = Account(name, (tier,), at, server)
        return Accounts(tuple(usage[name] for name in sorted(usage))) if usage else None


def _key(identity: ServerIdentity) -> str:
    return identity.id or identity.name


def _identity_of(varz: Varz) -> ServerIdentity:
    cluster = varz.cluster.name if varz.cluster else ""
    return ServerIdentity(name=varz.server_name, id=varz.server_id, cluster=cluster, ver=varz.version, time=varz.now)


def _stats(jsz: JszReply) -> JetStreamStats:
    fields = {name: getattr(jsz, name) for name in JetStreamStats.__struct_fields__}
    return JetStreamStats(**fields | {"meta_cluster": sane_meta(jsz.meta_cluster)})


def _limit(reserved: int) -> int:
    return -1 if reserved >= UNLIMITED or reserved == 0 else reserved
