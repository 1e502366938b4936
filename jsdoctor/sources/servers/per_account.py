"""What is requested account by account: Raft groups of those with streams, and the claims of JWTs in operator mode."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Exchange
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.replies.jsz import accounts_of, read_jsz
from jsdoctor.replies.user_jwt import ACCOUNT_KEY

MAX_CLAIMS = 64
"""Maximum number of accounts, with one request each: more would take longer than an operator waits."""


class _Accountz(msgspec.Struct, frozen=True):
    accounts: tuple[str, ...] | None = None


class _AccountzEnvelope(msgspec.Struct, frozen=True):
    data: _Accountz | None = None


def claimed_accounts(replies: Iterable[bytes]) -> list[str]:
    """Public keys of accounts, sorted, from ACCOUNTZ replies (with or without their envelope); none otherwise."""
    return sorted({name for body in replies for name in _account_names(body) if ACCOUNT_KEY.fullmatch(name)})


def mapped_accounts(replies: Iterable[Exchange], plan: CollectionPlan) -> tuple[list[str], list[Gap]]:
    """Ids of the accounts with streams from JSZ replies, but for those that are requested for their JWT; at most 64."""
    ids = {account.id or account.name for _, account in accounts_of(replies) if account.stream_detail}
    wanted = sorted(i for i in ids if i and not (plan.claims and ACCOUNT_KEY.fullmatch(i)))
    return wanted[:MAX_CLAIMS], [_too_many(len(wanted), "streams", "mappings")] if len(wanted) > MAX_CLAIMS else []


def _account_names(body: bytes) -> tuple[str, ...]:
    """The names in an ACCOUNTZ reply; none if it cannot be read, which becomes a gap where it is parsed."""
    try:
        account = decode_as(body, _AccountzEnvelope).data or decode_as(body, _Accountz)
    except msgspec.MsgspecError:
        return ()
    return account.accounts or ()


def too_many_claims(count: int) -> Gap:
    """The gap for the accounts that are left out."""
    return _too_many(count, "a JWT", "limits")


def _too_many(count: int, having: str, wanted: str) -> Gap:
    return Gap(
        kind="accounts",
        subject=CLUSTER,
        reason=f"of {count:,} accounts with {having}, {MAX_CLAIMS} were queried for their {wanted}",
        how_to_get="ask the others one by one: nats server request accounts --account KEY",
        requested=False,
    )


MAX_RAFT_ACCOUNTS = 64
"""Maximum number of accounts, with one request each: more would take longer than an operator waits."""


def clustered_accounts(replies: Iterable[Exchange]) -> list[str]:
    """Ids of the accounts with JetStream, sorted, from JSZ replies.

    None where no server is in a cluster: there are no groups. In operator mode RAFTZ knows accounts by their id only.
    """
    names = {account.id or account.name for jsz, account in accounts_of(replies) if jsz.meta_cluster is not None}
    return sorted(names - {""})


def switched_off(replies: Iterable[Exchange]) -> frozenset[str]:
    """Names of the servers that switched their JetStream off, from JSZ replies of the system account.

    The groups of an account must not be requested from them: after a full disk, 2.11.11 waits for a lock then, and
    responds to no further request of the system account until it is restarted. One without JetStream has no groups.
    """
    names = set()
    for exchange in replies:
        with suppress(ReplyError):
            read = read_jsz(exchange)
            if read.sender.jetstream and read.reply.disabled:
                names.add(read.sender.name)
    return frozenset(names)


def too_many_accounts(count: int) -> Gap:
    """The gap for the accounts that are left out."""
    return Gap(
        kind="raft",
        subject=CLUSTER,
        reason=f"of {count:,} accounts with JetStream, the Raft groups of {MAX_RAFT_ACCOUNTS} were requested",
        how_to_get="request the others one by one: nats server request raft --account NAME",
        requested=False,
    )
