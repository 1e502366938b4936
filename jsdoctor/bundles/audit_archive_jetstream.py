"""JetStream in an archive of `nats audit gather`: its servers, what accounts use, and its streams."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from jsdoctor.bundles.audit_archive_manifest import (
    ACCOUNT_INFO,
    ACCOUNT_USAGE,
    JETSTREAM,
    ArchiveManifest,
    Artifact,
    Node,
    fewer_streams,
    no_accounts,
    no_consumers,
    no_streams,
    unread,
)
from jsdoctor.bundles.audit_archive_reply import ArchivedReply, Fields, Replies, Senders, encoded, sealed
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.reported import Instant
from jsdoctor.replies.decoding import ReplyError, decode

_MIN_APART = timedelta(seconds=1)
"""Samples that are closer together give no rates."""
_NEVER = timedelta(0)
Body = tuple[Endpoint, Node, str, bytes]
"""A reply: its endpoint, its server, where it is in the archive, and its content."""


class _Now(msgspec.Struct, frozen=True):
    now: Instant | None = None


class _Usage(msgspec.Struct, frozen=True):
    id: str = ""
    memory: int = 0
    storage: int = 0
    reserved_memory: int = 0
    reserved_storage: int = 0


class _AccountInfo(msgspec.Struct, frozen=True):
    account_name: str = ""
    name_tag: str = ""


class _AccountId(msgspec.Struct, frozen=True):
    name: str = ""
    id: str = ""


class ArchivedJetStream:
    """The JetStream part of an archive. `singles`: artifacts with one stream of one server, and their contents.

    Gaps are added to those of `replies`.
    """

    def __init__(
        self,
        manifest: ArchiveManifest,
        replies: Replies,
        senders: Senders,
        singles: Iterable[tuple[Artifact, bytes]],
        taken_at: datetime,
    ) -> None:
        self._taken_at = taken_at
        self._manifest, self._replies, self._senders = manifest, replies, senders
        self._jsz_fields: dict[Node, Fields] = {}
        self._members: dict[Node, str] = {}
        self._accounts: dict[Node, list[AccountShown]] = {}
        for node, pages in replies.pages(JETSTREAM):
            self._jsz_fields[node] = pages[0][1]
            self._members[node] = pages[0][0].artifact.member
            self._accounts[node] = self._accounts_on(node, pages)
        self._single = list(self._read_streams(singles, self._account_names()))
        self._listed = [
            copy for accounts in self._accounts.values() for account in accounts for copy in account.streams or ()
        ]
        self._from_single = better_single(self._listed, self._single)
        self._without = {
            reply.artifact.node for reply in replies if reply.has_jetstream is False
        } - self._jsz_fields.keys()
        self._is_shown = bool(self._listed or self._single)
        self._note_gaps()

    def bodies(self) -> Iterator[Body]:
        """JSZ of each server with its pages joined, and the streams for which their separate replies are used.

        `nats audit gather` requests no JSZ of servers without JetStream: it is made from envelopes of other replies.
        """
        for node, base in self._jsz_fields.items():
            data: dict[str, object] = {key: value for key, value in base.items() if key != "account_details"}
            if accounts := self._accounts[node]:
                data["account_details"] = [self._account_in_jsz(account) for account in accounts]
            yield Endpoint.JSZ, node, self._members[node], sealed(self._senders.identity(node), data)
        for node in self._without if self._is_shown else ():
            sender = self._senders.identity(node)
            disabled = {"server_id": sender.id, "now": sender.time or self._taken_at, "disabled": True}
            yield Endpoint.JSZ, node, "its envelopes", sealed(sender, disabled)
        times = times_of(self._single)
        for node, account, details in account_details(c for c in self._single if c.key in self._from_single):
            at = times.get((node, account)) or self._senders.identity(node).time
            yield self._streams(node, account, at or self._taken_at, details)

    def earlier(self) -> tuple[timedelta, list[Body]]:
        """The earlier copies of those streams in JSZ if they are old enough, and the shortest time between both."""
        times = times_of(self._single)
        apart_for: dict[Node, timedelta] = {}
        for node, account in {(copy.node, copy.account) for copy in self._single}:
            first, then = (
                _time_of(self._jsz_fields.get(node, {})),
                times.get((node, account)) or self._senders.identity(node).time,
            )
            passed = then - first if first and then else timedelta(0)
            apart_for[node] = min(passed, apart_for.get(node, passed))
        near = {copy.key for copy in (*self._listed, *self._single) if apart_for.get(copy.node, _NEVER) < _MIN_APART}
        again = [copy for copy in self._listed if copy.key in self._from_single - near]
        bodies = [
            self._streams(node, account, at, details)
            for node, account, details in account_details(again)
            if (at := _time_of(self._jsz_fields[node]))
        ]
        return min((apart_for[copy.node] for copy in again), default=timedelta(0)), bodies

    def _streams(self, node: Node, account: str, at: datetime, details: msgspec.Raw) -> Body:
        texts = self._jsz_fields.get(node, {})
        data: dict[str, object] = {"now": at, "account_details": details}
        data |= {key: texts[key] for key in ("server_id", "config") if key in texts}
        body = sealed(self._senders.identity(node), data)
        return Endpoint.JSZ_STREAMS, node, f"streams of account {account}", body

    def _account_in_jsz(self, account: AccountShown) -> Fields:
        if account.streams is None:
            return account.fields
        kept = [copy.detail for copy in account.streams if copy.key not in self._from_single]
        return account.fields | {"stream_detail": encoded([*account.unread, *kept])}

    def _accounts_on(self, node: Node, pages: list[tuple[ArchivedReply, Fields]]) -> list[AccountShown]:
        """The accounts in JSZ; if it has no details, those in separate replies with the usage of each."""
        try:
            listed = accounts_of(node, (fields for _, fields in pages))
        except ReplyError as error:
            self._replies.gaps.append(unread(pages[0][0].artifact, error))
            return []
        return list(self._usage_of(node)) if listed is None else listed

    def _usage_of(self, node: Node) -> Iterator[AccountShown]:
        for reply in self._replies.of_type(ACCOUNT_USAGE):
            if reply.artifact.node != node:
                continue
            try:
                fields, usage = reply.fields(), decode(reply.data, _Usage)
            except ReplyError as error:
                self._replies.gaps.append(unread(reply.artifact, error))
                continue
            # Without the envelope, an account that has no JetStream is all zeros.
            if usage.id or usage.memory or usage.storage or usage.reserved_memory or usage.reserved_storage:
                name = encoded(reply.artifact.account)
                yield AccountShown(reply.artifact.account, {"name": name, "id": name} | fields, None, [])

    def _account_names(self) -> dict[str, str]:
        """The name of each account by its id. Labels have the id, which in operator mode is a key; JSZ has both."""
        names: dict[str, str] = {}
        for reply in self._replies.of_type(ACCOUNT_INFO):
            try:
                info = decode(reply.data, _AccountInfo)
            except ReplyError:
                continue  # it is a reply of its own, too, and its gap is made there
            names[info.account_name] = info.name_tag or info.account_name
        for account in (account for accounts in self._accounts.values() for account in accounts):
            account_id = decode(encoded(account.fields), _AccountId)
            names[account_id.id or account_id.name] = account_id.name
        return names

    def _read_streams(self, singles: Iterable[tuple[Artifact, bytes]], names: dict[str, str]) -> Iterator[ArchivedCopy]:
        for artifact, content in singles:
            account, node = names.get(artifact.account, artifact.account), self._senders.node(artifact.node)
            try:
                yield stream_copy(account, node, msgspec.Raw(content))
            except ReplyError as error:
                self._replies.gaps.append(unread(artifact, error))

    def _note_gaps(self) -> None:
        """Note what the archive lacks: streams that servers count and it does not show, accounts, consumers."""
        gaps, has_accounts = self._replies.gaps, any(self._accounts.values())
        counts = {node: _stream_count(fields) for node, fields in self._jsz_fields.items()}
        if self._is_shown:
            shown_streams = Counter(
                node for node, _ in {(copy.node, copy.key) for copy in (*self._listed, *self._single)}
            )
            for node, accounts in self._accounts.items():
                shown_streams[node] += sum(len(account.unread) for account in accounts)
            gaps.extend(fewer_streams(shown_streams, counts))
        elif not counts or any(counts.values()):
            gaps.append(no_streams(self._manifest))
        if not has_accounts:
            gaps.append(no_accounts())
        used_copies = [copy for copy in self._listed if copy.key not in self._from_single]
        used_copies += [copy for copy in self._single if copy.key in self._from_single]
        if lacking_consumers := {copy.name for copy in used_copies if copy.is_leader and not copy.has_consumers}:
            gaps.append(no_consumers(lacking_consumers))


def _stream_count(fields: Fields) -> int:
    try:
        return decode(fields.get("streams", msgspec.Raw(b"0")), int)
    except ReplyError:
        return 0  # then the reply as a whole cannot be read, which has a gap of its own


def _time_of(fields: Fields) -> datetime | None:
    try:
        return decode(encoded({"now": fields["now"]}), _Now).now if "now" in fields else None
    except ReplyError:
        return None  # the same


# The streams of an archive of `nats audit gather`, most of which are in it twice.
#
# With details, JSZ of every server lists its streams. The archive also has a reply of each server for each stream, all
# requested at once. These are better, as the copies are of one moment; if they show less, JSZ counts. Profiles are
# taken in between, for seconds: JSZ is then an earlier sample, and both together show rates.

StreamKey = tuple[str, str]
"""Account and name."""


class _Leader(msgspec.Struct, frozen=True, gc=False):
    leader: str = ""


class _Count(msgspec.Struct, frozen=True, gc=False):
    consumer_count: int = 0


class _Stamp(msgspec.Struct, frozen=True, gc=False):
    ts: Instant | None = None


class _Head(msgspec.Struct, frozen=True):
    name: str
    cluster: _Leader | None = None
    state: _Count = _Count()
    consumer_detail: tuple[_Stamp, ...] | None = None


class ArchivedCopy(msgspec.Struct, frozen=True):
    """A stream as one server showed it. `has_consumers`: they are listed, or there are none."""

    account: str
    name: str
    node: Node
    is_leader: bool
    has_consumers: bool
    at: datetime | None
    detail: msgspec.Raw

    @property
    def key(self) -> StreamKey:
        """Which stream it is."""
        return self.account, self.name


class AccountShown(msgspec.Struct):
    """One account in JSZ. `streams` None: they were not requested. `unread`: streams without a readable name."""

    name: str
    fields: Fields
    streams: list[ArchivedCopy] | None
    unread: list[msgspec.Raw]


def stream_copy(account: str, node: Node, detail: msgspec.Raw) -> ArchivedCopy:
    """The copy of a stream in a reply. Raises ReplyError if it is no stream."""
    head = decode(detail, _Head)
    listed = head.consumer_detail
    return ArchivedCopy(
        account=account,
        name=head.name,
        node=node,
        is_leader=head.cluster is None or head.cluster.leader == node[1],
        has_consumers=listed is not None or head.state.consumer_count == 0,
        at=max((stamp.ts for stamp in listed or () if stamp.ts), default=None),
        detail=detail,
    )


def accounts_of(node: Node, pages: Iterable[Fields]) -> list[AccountShown] | None:
    """The accounts in the pages of one server's JSZ, each once; None if no page has account details.

    Raises ReplyError.
    """
    result: dict[str, AccountShown] = {}
    listed = [page["account_details"] for page in pages if _is_present(page, "account_details")]
    for page in listed:
        for fields in decode(page, tuple[Fields, ...]):
            name = decode(fields.get("name", msgspec.Raw(b'""')), str)
            result.setdefault(name, _account(name, node, fields))
    return list(result.values()) if listed else None


def _account(name: str, node: Node, fields: Fields) -> AccountShown:
    account = AccountShown(name, {k: v for k, v in fields.items() if k != "stream_detail"}, None, [])
    if _is_present(fields, "stream_detail"):
        account.streams = []
        for detail in decode(fields["stream_detail"], tuple[msgspec.Raw, ...]):
            try:
                account.streams.append(stream_copy(name, node, detail))
            except ReplyError:
                account.unread.append(detail)
    return account


def _is_present(fields: Fields, key: str) -> bool:
    value = fields.get(key)
    return value is not None and bytes(memoryview(value)[:4]) != b"null"


def better_single(in_jsz: Iterable[ArchivedCopy], singles: Iterable[ArchivedCopy]) -> set[StreamKey]:
    """The streams whose separate replies, requested of all servers at once, show at least as much as JSZ."""
    listed, asked = _by_key(in_jsz), _by_key(singles)
    return {key for key, copies in asked.items() if _quality(copies) >= _quality(listed.get(key, []))}


Times = dict[tuple[Node, str], datetime]
"""When each server showed the streams of each account, by its own clock."""


def times_of(copies: Iterable[ArchivedCopy]) -> Times:
    """The latest `ts` of the consumers of each account. Streams have none, so it needs a consumer."""
    times: Times = {}
    for copy in copies:
        if copy.at:
            times[copy.node, copy.account] = max(copy.at, times.get((copy.node, copy.account), copy.at))
    return times


def account_details(copies: Iterable[ArchivedCopy]) -> Iterator[tuple[Node, str, msgspec.Raw]]:
    """The copies as JSZ would list them: the `account_details` of each server and account."""
    by_server: dict[tuple[Node, str], dict[str, ArchivedCopy]] = defaultdict(dict)
    for copy in copies:
        by_server[copy.node, copy.account][copy.name] = copy
    for (node, account), streams in by_server.items():
        details = [copy.detail for copy in streams.values()]
        yield node, account, encoded([{"name": account, "id": account, "stream_detail": details}])


def _by_key(copies: Iterable[ArchivedCopy]) -> dict[StreamKey, list[ArchivedCopy]]:
    result: dict[StreamKey, list[ArchivedCopy]] = defaultdict(list)
    for copy in copies:
        result[copy.key].append(copy)
    return result


def _quality(copies: list[ArchivedCopy]) -> tuple[bool, bool, int]:
    """How much copies show, as a tuple to compare: the leader's copy, its consumers, the number of servers."""
    leading = [copy for copy in copies if copy.is_leader]
    return bool(leading), any(copy.has_consumers for copy in leading), len({copy.node for copy in copies})
