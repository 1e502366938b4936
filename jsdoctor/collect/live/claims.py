"""The accounts that may have a JWT: in operator mode, accounts have public keys and are requested one by one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.typed import decode_as
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


def _listed(body: bytes) -> tuple[str, ...]:
    """Nothing of what cannot be read: it becomes a gap where it is parsed."""
    try:
        account = decode_as(body, _AccountzEnvelope).data or decode_as(body, _Accountz)
    except msgspec.MsgspecError:
        return ()
    return account.accounts or ()


def too_many_claims(count: int) -> Gap:
    """The gap for the accounts that are left out."""
    return Gap(
        kind="accounts",
        subject=CLUSTER,
        reason=f"of {count:,} accounts with a JWT, {MAX_CLAIMS} were queried for their limits",
        how_to_get="ask the others one by one: nats server request accounts --account KEY",
        requested=False,
    )
