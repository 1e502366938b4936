"""Replies of the JetStream API to a plain account: its streams, consumers, usage and name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from jsdoctor.model.api_refusals import ApiRefusal
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import Account, Tier
from jsdoctor.model.snapshot import Consumer, UnresponsiveAsset
from jsdoctor.replies.decoding import (
    AccountInfoReply,
    ApiRefusedError,
    ConsumerReply,
    ErrorReply,
    ReplyError,
    StreamInfoReply,
    StreamReply,
    SystemEnvelope,
    UserInfoData,
    decode,
)
from jsdoctor.replies.jsz import ListPage, read_consumers, read_streams
from jsdoctor.replies.merge import ConsumerCopies, ConsumerCopy, StreamCopy, merge_consumer, merge_streams
from jsdoctor.replies.missing_replies import unreadable
from jsdoctor.replies.torn import Repeated, is_new

_STREAM_NOT_FOUND = 10059

_CONSUMER_NOT_FOUND = 10014

_REPEATED_ENDPOINTS = (Endpoint.STREAM_INFO_AGAIN, Endpoint.CONSUMER_LIST_AGAIN, Endpoint.CONSUMER_INFO_AGAIN)

_USAGE = Tier.__struct_fields__


class AccountReplies:
    """The replies of the JetStream API in one sample. Pass them to `add_all`, then read the rest.

    `name` is the account's name if an earlier sample has it, `earlier` the consumers of that sample.
    """

    def __init__(self, name: str = "", earlier: ConsumerCopies | None = None) -> None:
        self.name = name
        self._earlier = earlier or {}
        self.consumers: dict[tuple[str, str], list[ConsumerCopy]] = defaultdict(list)
        self.silent: list[UnresponsiveAsset] = []
        self.gaps: list[Gap] = []
        self.refusals: list[ApiRefusal] = []
        self.answered = False
        self.again: Repeated | None = None
        self._streams: dict[str, tuple[datetime, StreamReply]] = {}
        self._totals: dict[str, int] = {}
        self._listed: dict[str, int] = defaultdict(int)
        self._gone: set[str] = set()
        self._single: dict[Subject, tuple[datetime, ConsumerReply] | None] = {}
        self._usage: tuple[datetime, AccountInfoReply] | None = None

    def add_all(self, exchanges: Iterable[Exchange]) -> None:
        """Read every reply that came through a plain account; what cannot be read becomes a gap."""
        mine = [e for e in exchanges if e.access is Access.ACCOUNT]
        repeated = [e for e in mine if e.endpoint in _REPEATED_ENDPOINTS]
        self._read_all([e for e in mine if e.endpoint not in _REPEATED_ENDPOINTS])
        if repeated:
            again = AccountReplies(self.name)
            again._read_all(repeated)
            self.again = again._as_repeated(self)

    def _as_repeated(self, sample: AccountReplies) -> Repeated:
        """These replies to repeated requests for torn assets; other state of their streams is taken from `sample`.

        A list of consumers does not show that the stream responds: the meta leader sends it for servers that are down.
        """
        asked = {stream for _, stream in self.consumers} | self._totals.keys() | self._streams.keys() | self._gone
        unanswered = asked - self._streams.keys() - self._gone
        self.silent += [a for a in sample.silent if a.subject.kind == "stream" and a.subject.name in unanswered]
        known = sample._streams
        self._streams = {name: known[name] for name in asked if name in known} | self._streams
        silent = frozenset(asset.subject for asset in self.silent)
        streams = merge_streams(self.streams, self.consumers)
        return Repeated(
            {s.key: s for s in streams},
            asked=frozenset((self.name, name) for name in asked),
            consumers=self._single_consumers(),
            silent=silent,
        )

    def _single_consumers(self) -> dict[Subject, Consumer | None]:
        """Consumers that were requested one by one. A reply of a group without a leader counts only if it is new."""
        consumers = {
            s: merge_consumer(self.name, [ConsumerCopy("", *copy)]) if copy else None
            for s, copy in self._single.items()
        }
        return {
            s: consumer
            for s, consumer in consumers.items()
            if consumer is None or consumer.from_leader or is_new(consumer)
        }

    def _read_all(self, mine: Iterable[Exchange]) -> None:
        # Only USER.INFO names the account that all other replies belong to: read it first.
        for exchange in sorted(mine, key=lambda e: e.endpoint is not Endpoint.USER_INFO):
            try:
                self._add(exchange)
            except ReplyError as error:
                self.gaps.append(unreadable(exchange, error, account=self.name))
                if isinstance(error, ApiRefusedError) and exchange.endpoint is Endpoint.STREAM_LIST:
                    self.refusals.append(ApiRefusal(self.name, error.err_code, exchange.asked_at))

    def _add(self, exchange: Exchange) -> None:
        match exchange.endpoint:
            case Endpoint.USER_INFO:
                envelope = decode(exchange.body, SystemEnvelope)
                _raise_for_error(envelope.error)
                user = decode(envelope.data, UserInfoData)
                self.name = user.account_name or user.account
            case Endpoint.STREAM_LIST:
                self._add_streams(exchange, read_streams(exchange))
            case Endpoint.CONSUMER_LIST | Endpoint.CONSUMER_LIST_AGAIN:
                self._add_consumers(exchange, read_consumers(exchange))
            case Endpoint.CONSUMERS_AT_REST:
                self._keep_consumers(decode(exchange.body, tuple[str, ...]))
            case Endpoint.STREAM_INFO_AGAIN:
                self._add_stream_again(exchange)
            case Endpoint.CONSUMER_INFO_AGAIN:
                stream, _, name = exchange.target.rsplit("CONSUMER.INFO.", 1)[-1].partition(".")
                subject = Subject(kind="consumer", name=name, account=self.name, stream=stream)
                reply = decode(exchange.body, StreamInfoReply)
                if reply.error is None:
                    consumer = decode(exchange.body, ConsumerReply)
                    self._single[subject] = consumer.ts or exchange.asked_at, consumer
                elif reply.error.err_code in (_CONSUMER_NOT_FOUND, _STREAM_NOT_FOUND):
                    self._single[subject] = None
            case Endpoint.ACCOUNT_INFO:
                info = decode(exchange.body, AccountInfoReply)
                _raise_for_error(info.error)
                self._usage = (exchange.asked_at, info)
            case _:
                pass

    def _add_streams(self, exchange: Exchange, page: ListPage[StreamReply]) -> None:
        _raise_for_error(page.head.error)
        self.answered = True
        self.gaps.extend(unreadable(exchange, error) for error in page.errors)
        self._streams |= {stream.config.name: (exchange.asked_at, stream) for stream in page.items}
        self._add_silent(page.head.missing or (), page.head.offline or {}, "")

    def _add_stream_again(self, exchange: Exchange) -> None:
        name = exchange.target.rsplit("STREAM.INFO.", 1)[-1]
        reply = decode(exchange.body, StreamInfoReply)
        if reply.error and reply.error.err_code == _STREAM_NOT_FOUND:
            self._gone.add(name)
            return
        if reply.error is None:  # else the sample's own state stands
            self._streams[name] = (exchange.asked_at, decode(exchange.body, StreamReply))

    def _add_consumers(self, exchange: Exchange, page: ListPage[ConsumerReply]) -> None:
        stream, head = exchange.target.rsplit("CONSUMER.LIST.", 1)[-1], page.head
        if head.error and head.error.err_code == _STREAM_NOT_FOUND:
            self._gone.add(stream)  # deleted since it was listed
            return
        _raise_for_error(head.error)
        self.gaps.extend(unreadable(exchange, error) for error in page.errors)
        # One whose peers are all offline is listed without its name, which is in `missing`.
        named = [consumer for consumer in page.items if consumer.name]
        self._totals[stream] = max(head.total, self._totals.get(stream, 0))
        self._listed[stream] += len({c.name for c in named} | page.unresponsive)
        self.consumers[self.name, stream].extend(ConsumerCopy("", c.ts or exchange.asked_at, c) for c in named)
        self._add_silent(head.missing or (), head.offline or {}, stream)

    def _keep_consumers(self, streams: Iterable[str]) -> None:
        """Keep consumers of idle streams as in the previous sample, with the times of that sample."""
        for stream in streams:
            known = self._earlier.get((self.name, stream), [])
            self.consumers[self.name, stream].extend(known)
            self._totals[stream] = self._listed[stream] = len(known)

    def _add_silent(self, missing: Iterable[str], offline: Mapping[str, str], stream: str) -> None:
        """Note assets without a responding leader: consumers of `stream`, or streams where it is empty."""
        kind = "consumer" if stream else "stream"
        for name in sorted({*missing, *offline}):
            subject = Subject(kind=kind, name=name, account=self.name, stream=stream)
            reason = offline.get(name, "")
            self.silent.append(UnresponsiveAsset(subject, reason or "its leader did not respond", offline=bool(reason)))

    @property
    def streams(self) -> list[StreamCopy]:
        """Every stream of the account, those that were deleted meanwhile left out.

        For a stream whose servers are known to be down, the API still reports the configuration, with an empty state.
        """
        silent = {asset.subject.name for asset in self.silent if asset.subject.kind == "stream"}
        return [
            StreamCopy("", self.name, at, stream, consumers_seen=name not in silent and self._lists_all(stream))
            for name, (at, stream) in self._streams.items()
            if name not in self._gone
        ]

    def _lists_all(self, stream: StreamReply) -> bool:
        total = self._totals.get(stream.config.name)
        return stream.state.consumer_count == 0 if total is None else self._listed[stream.config.name] >= total

    def account(self) -> Account | None:
        """Usage of the account, by tier where the account has tiers."""
        if not self._usage:
            return None
        at, info = self._usage
        rows = info.tiers.items() if info.tiers else [("", info)]
        tiers = tuple(Tier(**{**{field: getattr(row, field) for field in _USAGE}, "name": name}) for name, row in rows)
        return Account(self.name, tiers, at, "$JS.API.INFO")


def _raise_for_error(error: ErrorReply | None) -> None:
    if error:
        raise ApiRefusedError(error)
