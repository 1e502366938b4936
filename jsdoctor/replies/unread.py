"""Parts of what servers report that were not read, marked so that the engine knows whether a check needed one.

`varz`, `jetstream` and the like are None where no reply of that endpoint came, and a stream whose consumers were not
listed has none. A rule that needs such a part and finds no fault is not evaluated (`engine.runner`). What a reply lacks
of what servers always send is hidden: a check that reads it cannot judge that subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import is_not
from typing import Any

import msgspec

from jsdoctor.model.connections import Connections, ServerConnections
from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.partial import Shape, hide, mark_unread, raw_field
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.reported import Reported
from jsdoctor.model.server import Accounts, ConnectedServer, Server, Servers, Tier
from jsdoctor.model.setting import struct_of
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import History, ServerTrend, Trend

_HOW_TO_GET = "run again, with a longer --timeout, or give that reply"
_NOT_SENT = "give the reply as the server sent it; versions that are supported send that field"
_OF_ACCOUNT = "use a login of the account, too: other replies do not show limits that differ by number of replicas"
_KINDS: tuple[type[Evidence], ...] = (
    *(Servers, ServerTrend, ConnectedServer, Links, Connections, RaftGroups, Accounts),
    *(SnapshotSeries, Trend, History),
)
_FILLED: Mapping[type[Any], Mapping[str, tuple[str, ...]]] = {
    Server: {"VARZ": ("varz",), "JSZ": ("jetstream", "calls"), "HEALTHZ": ("health",)},
    ServerLinks: {
        "GATEWAYZ": ("gateways", "gateway_name"),
        "LEAFZ": ("leafs",),
        "ROUTEZ": ("routes", "route_connections", "route_count"),
    },
    ServerConnections: {
        "the list of open connections (CONNZ)": ("open",),
        "the list of closed connections (CONNZ)": ("closed",),
    },
    Stream: {"the list of its consumers": ("consumers",)},
}
"""The fields that each reply fills. The first is None if the reply was not read, except for consumers."""


def with_unread(evidence: EvidenceSet, *kinds: type[Evidence]) -> EvidenceSet:
    """The evidence; checks see only what was read of each server and stream. `kinds`: only these."""
    for kind in kinds or _KINDS:
        if (value := evidence.get(kind)) is not None and (shown := mapped(value, _only_read)) is not value:
            evidence = evidence.partly_shown(shown, kind)
    return evidence


def read_of(value: Shape, unseen: Iterable[str] = (), how_to_get: str = _HOW_TO_GET) -> Shape:
    """A server, its links or connections, or a stream without the replies that were not read, and without `unseen`."""
    subject = value.subject  # type: ignore[attr-defined]  # all of `_FILLED` have one
    return without_unseen(mark_unread(value, _unread_fields(value), subject, how_to_get), unseen, subject, how_to_get)


def without_unseen(
    value: Shape, unseen: Iterable[str], subject: Subject, how_to_get: str, prefix: str = "", *, is_sent: bool = False
) -> Shape:
    """The value with these fields hidden from checks: paths of any depth, in a tuple for each element.

    `is_sent`: servers always send these fields, so that None is none of their values: checks may read a None.
    """
    below: dict[str, set[str]] = {}
    for path in unseen:
        top, _, rest = path.partition(".")
        below.setdefault(top, set()).add(rest)
    parts: dict[str, Any] = {}
    for top in below.keys() & set(value.__struct_fields__):
        known, paths, place = raw_field(value, top), below[top], f"{prefix}{top}."
        items = known if isinstance(known, tuple) else (known,)
        if "" not in paths and all(isinstance(item, msgspec.Struct) for item in items):
            shown = tuple(without_unseen(item, paths, subject, how_to_get, place, is_sent=is_sent) for item in items)
            parts[top] = shown if isinstance(known, tuple) else shown[0]
    changed = msgspec.structs.replace(value, **parts) if parts else value
    whole = sorted((below.keys() - parts.keys()) & set(value.__struct_fields__))
    unread = {top: f"{prefix}{top}" for top in whole if is_sent and raw_field(value, top) is None}
    marked = mark_unread(changed, unread, subject, how_to_get)
    return hide(marked, [top for top in whole if top not in unread], subject, how_to_get, prefix)


def mapped(value: Any, change: Callable[[Any, Subject], Any], subject: Subject = CLUSTER) -> Any:
    """Apply `change` to each part of a reply in the value, the innermost first. Returns `value` if nothing changes.

    `change` gets the part and the subject that it belongs to.
    """
    if isinstance(value, tuple):
        if value and isinstance(value[0], Stream | Consumer) and not any(map(_lacks_fields, value)):
            return value  # there may be a hundred thousand, and as a rule nothing is to be done for any
        items = tuple(mapped(item, change, subject) for item in value)
        return items if any(map(is_not, items, value)) else value
    if value is None:
        return None
    subject = Subject("server", value.server) if isinstance(value, RaftMember) else getattr(value, "subject", subject)
    shape: Any = type(value)
    known = {name: getattr(value, name) for name in _parts(shape)}
    parts = {name: part for name, whole in known.items() if (part := mapped(whole, change, subject)) is not whole}
    return change(msgspec.structs.replace(value, **parts) if parts else value, subject)


def _only_read(value: Any, subject: Subject) -> Any:
    """The value without what was not read, and without what its reply lacks."""
    if isinstance(value, Reported) and value.unseen:
        how_to_get = _OF_ACCOUNT if isinstance(value, Tier) else _NOT_SENT
        value = without_unseen(value, value.unseen, subject, how_to_get, is_sent=True)
    if isinstance(value, Server):
        value = hide(value, [name for name in ("server_id", "version") if not getattr(value, name)], subject, _NOT_SENT)
    return mark_unread(value, _unread_fields(value), subject, _HOW_TO_GET)


def _lacks_fields(asset: Stream | Consumer) -> bool:
    if asset.unseen or (asset.replicas and any(replica.unseen for replica in asset.replicas)):
        return True
    return isinstance(asset, Stream) and (not asset.consumers_seen or any(map(_lacks_fields, asset.consumers)))


@cache
def _parts(shape: Any) -> tuple[str, ...]:
    """The fields that contain a part of a reply at any depth."""
    fields = ((field.name, struct_of(field.type)) for field in msgspec.structs.fields(shape))
    return tuple(name for name, below in fields if below and (issubclass(below, (Reported, *_FILLED)) or _parts(below)))


def server_gaps(servers: Servers | None, known: Iterable[Gap]) -> Iterator[Gap]:
    """A gap for each server that lacks a reply which another server sent, where no gap names that server yet."""
    named = {gap.subject for gap in known if gap.requested}
    listed = servers.servers if servers is not None else ()
    unread = {server.subject: set(_unread_fields(server).values()) for server in listed}
    of_every_server = set.intersection(*unread.values()) if unread else set()
    for subject, replies in unread.items():
        if (missing := sorted(replies - of_every_server)) and subject not in named:
            yield Gap("server", subject, f"{' and '.join(missing)} was not read", _HOW_TO_GET)


@cache
def _replies_of(shape: type[Any]) -> Mapping[str, tuple[str, ...]]:
    return next((replies for filled, replies in _FILLED.items() if issubclass(shape, filled)), {})


def _unread_fields(value: msgspec.Struct) -> dict[str, str]:
    """The fields of the replies that were not read, each with the name of its reply."""
    unread = {
        reply: fields
        for reply, fields in _replies_of(type(value)).items()
        if (not value.consumers_seen if isinstance(value, Stream) else getattr(value, fields[0]) is None)
    }
    return {field: reply for reply, fields in unread.items() for field in fields}
