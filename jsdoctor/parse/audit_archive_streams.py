"""The streams of an archive of `nats audit gather`, most of which are in it twice.

With details, JSZ of every server lists its streams. The archive also has a reply of each server for each stream, all
requested at once. These are better, as the copies are of one moment; if they show less, JSZ counts. Profiles are
taken in between, for seconds: JSZ is then an earlier sample, and both together show rates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from jsdoctor.parse.audit_archive_manifest import Node
from jsdoctor.parse.audit_archive_reply import Fields, encoded
from jsdoctor.parse.replies import Instant, ReplyError, decode

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


class Shown(msgspec.Struct, frozen=True):
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
    streams: list[Shown] | None
    unread: list[msgspec.Raw]


def shown(account: str, node: Node, detail: msgspec.Raw) -> Shown:
    """Raises ReplyError for what is no stream."""
    head = decode(detail, _Head)
    listed = head.consumer_detail
    return Shown(
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
    listed = [page["account_details"] for page in pages if _is_there(page, "account_details")]
    for page in listed:
        for fields in decode(page, tuple[Fields, ...]):
            name = decode(fields.get("name", msgspec.Raw(b'""')), str)
            result.setdefault(name, _account(name, node, fields))
    return list(result.values()) if listed else None


def _account(name: str, node: Node, fields: Fields) -> AccountShown:
    account = AccountShown(name, {k: v for k, v in fields.items() if k != "stream_detail"}, None, [])
    if _is_there(fields, "stream_detail"):
        account.streams = []
        for detail in decode(fields["stream_detail"], tuple[msgspec.Raw, ...]):
            try:
                account.streams.append(shown(name, node, detail))
            except ReplyError:
                account.unread.append(detail)
    return account


def _is_there(fields: Fields, key: str) -> bool:
    value = fields.get(key)
    return value is not None and bytes(memoryview(value)[:4]) != b"null"


def better_apart(in_jsz: Iterable[Shown], apart: Iterable[Shown]) -> set[StreamKey]:
    """The streams for which the replies that were requested of all servers at once count, and not their JSZ."""
    listed, asked = _by_key(in_jsz), _by_key(apart)
    return {key for key, copies in asked.items() if _worth(copies) >= _worth(listed.get(key, []))}


Times = dict[tuple[Node, str], datetime]
"""When each server showed the streams of each account, by its own clock."""


def times_of(copies: Iterable[Shown]) -> Times:
    """The latest that any consumer was stamped with. Streams are not, so where there is no consumer it is not known."""
    times: Times = {}
    for copy in copies:
        if copy.at:
            times[copy.node, copy.account] = max(copy.at, times.get((copy.node, copy.account), copy.at))
    return times


def as_account_details(copies: Iterable[Shown]) -> Iterator[tuple[Node, str, msgspec.Raw]]:
    """The form in which JSZ lists those streams: the `account_details` of each server and account."""
    by_server: dict[tuple[Node, str], dict[str, Shown]] = defaultdict(dict)
    for copy in copies:
        by_server[copy.node, copy.account][copy.name] = copy
    for (node, account), streams in by_server.items():
        details = [copy.detail for copy in streams.values()]
        yield node, account, encoded([{"name": account, "id": account, "stream_detail": details}])


def _by_key(copies: Iterable[Shown]) -> dict[StreamKey, list[Shown]]:
    result: dict[StreamKey, list[Shown]] = defaultdict(list)
    for copy in copies:
        result[copy.key].append(copy)
    return result


def _worth(copies: list[Shown]) -> tuple[bool, bool, int]:
    leading = [copy for copy in copies if copy.is_leader]
    return bool(leading), any(copy.has_consumers for copy in leading), len({copy.node for copy in copies})
