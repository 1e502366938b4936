"""The account of a user's JWT: from the JWT that a client gave, and from what a bundle keeps in its place."""

from __future__ import annotations

import base64
import re

import msgspec

from jsdoctor.model.typed import decode_as

ACCOUNT_KEY = re.compile(r"A[A-Z2-7]{55}")
"""The public nkey of an account (nkeys `strkey.go`). It is not a secret."""
_REDACTED = re.compile(rf"\[redacted:jwt of account ({ACCOUNT_KEY.pattern})\]")


class _UserClaims(msgspec.Struct, frozen=True):
    issuer_account: str = ""


class _UserJwt(msgspec.Struct, frozen=True):
    iss: str = ""
    nats: _UserClaims = _UserClaims()


def jwt_payload(jwt: str) -> bytes:
    """The claims of a JWT as JSON, unverified; empty if it has none. Raises ValueError for what is no base64."""
    payload = jwt.partition(".")[2].partition(".")[0]
    return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))


def issuer_account(jwt: str) -> str | None:
    """The public key of the account that a user's JWT is of; empty if it names none, None if it was redacted.

    A signing key of the account may have issued the JWT: the account is then named beside it (jwt v2 `UserClaims`).
    """
    if jwt.startswith("[redacted:"):
        kept = _REDACTED.fullmatch(jwt)
        return kept[1] if kept else None
    if jwt.count(".") != 2:
        return ""
    try:
        user = decode_as(jwt_payload(jwt), _UserJwt)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return ""
    account = user.nats.issuer_account or user.iss
    return account if ACCOUNT_KEY.fullmatch(account) else ""


def redacted_jwt(jwt: str) -> str:
    """What a bundle keeps of a JWT: nothing, or the account that it is of. JSD822 needs that of logins that failed."""
    account = issuer_account(jwt)
    return f"[redacted:jwt of account {account}]" if account else "[redacted:jwt]"
