"""The accounts that have Raft groups: servers report the groups of one account at a time, and only by its name."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.typed import decode_as

MAX_RAFT_ACCOUNTS = 64
"""One request each: past this many, collecting would take longer than an operator waits."""


class _AccountName(msgspec.Struct, frozen=True):
    name: str = ""
    id: str = ""


class _GroupsJsz(msgspec.Struct, frozen=True):
    meta_cluster: object = None
    account_details: tuple[_AccountName, ...] | None = None


class _GroupsEnvelope(msgspec.Struct, frozen=True):
    data: _GroupsJsz | None = None


def clustered_accounts(replies: Iterable[bytes]) -> list[str]:
    """Ids of the accounts with JetStream, sorted, from JSZ replies (with or without their envelope).

    None where no server is in a cluster: there are no groups. In operator mode RAFTZ knows accounts by their id only.
    """
    names: set[str] = set()
    for jsz in filter(None, map(_opened, replies)):
        if jsz.meta_cluster is not None:
            names |= {detail.id or detail.name for detail in jsz.account_details or ()}
    return sorted(names - {""})


def _opened(body: bytes) -> _GroupsJsz | None:
    """None for what cannot be read: it becomes a gap where it is parsed."""
    try:
        return decode_as(body, _GroupsEnvelope).data or decode_as(body, _GroupsJsz)
    except msgspec.MsgspecError:
        return None


def too_many_accounts(count: int) -> Gap:
    """The gap for the accounts that are left out."""
    return Gap(
        kind="raft",
        subject=CLUSTER,
        reason=f"of {count:,} accounts with JetStream, the Raft groups of {MAX_RAFT_ACCOUNTS} were requested",
        how_to_get="request the others one by one: nats server request raft --account NAME",
        requested=False,
    )
