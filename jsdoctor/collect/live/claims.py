"""The accounts that are requested one by one: those with streams, and in operator mode those with a JWT."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Exchange
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.typed import decode_as
from jsdoctor.parse.jsz import accounts_of
from jsdoctor.parse.user_jwt import ACCOUNT_KEY

MAX_CLAIMS = 64
"""One request each: past this many, collecting would take longer than an operator waits."""


class _Accountz(msgspec.Struct, frozen=True):
    accounts: tuple[str, ...] | None = None


class _AccountzEnvelope(msgspec.Struct, frozen=True):
    data: _Accountz | None = None


def claimed_accounts(replies: Iterable[bytes]) -> list[str]:
    """Public keys of accounts, sorted, from ACCOUNTZ replies (with or without their envelope); none otherwise."""
    return sorted({name for body in replies for name in _listed(body) if ACCOUNT_KEY.fullmatch(name)})


def mapped_accounts(replies: Iterable[Exchange], plan: CollectionPlan) -> tuple[list[str], list[Gap]]:
    """Ids of the accounts with streams from JSZ replies, but for those that are requested for their JWT; at most 64."""
    ids = {account.id or account.name for _, account in accounts_of(replies) if account.stream_detail}
    wanted = sorted(i for i in ids if i and not (plan.claims and ACCOUNT_KEY.fullmatch(i)))
    return wanted[:MAX_CLAIMS], [_too_many(len(wanted), "streams", "mappings")] if len(wanted) > MAX_CLAIMS else []


def _listed(body: bytes) -> tuple[str, ...]:
    """Nothing of what cannot be read: it becomes a gap where it is parsed."""
    try:
        account = decode_as(body, _AccountzEnvelope).data or decode_as(body, _Accountz)
    except msgspec.MsgspecError:
        return ()
    return account.accounts or ()


def too_many_claims(count: int) -> Gap:
    """The gap for the accounts that are left out."""
    return _too_many(count, "a JWT", "limits")


def _too_many(count: int, of: str, wanted: str) -> Gap:
    return Gap(
        kind="accounts",
        subject=CLUSTER,
        reason=f"of {count:,} accounts with {of}, {MAX_CLAIMS} were queried for their {wanted}",
        how_to_get="ask the others one by one: nats server request accounts --account KEY",
        requested=False,
    )
