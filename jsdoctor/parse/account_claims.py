"""Replies of servers about accounts with JWTs (ACCOUNTZ, and the account information in archives of `nats audit`)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from jsdoctor.model.account_claims import AccountClaims, AccountUse, ClaimedLimits
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.gap import Gap
from jsdoctor.parse.missing_replies import unreadable
from jsdoctor.parse.opening import Identities, open_reply
from jsdoctor.parse.replies import Instant, ReplyError

_LATEST_S = 253_402_300_800
"""The year 10000: what is later is no moment, and no end either."""
_NOT_HERE = "does not exist"
"""A server that never had a client of an account does not know it (server: monitor.go accountInfo)."""


class _Nats(msgspec.Struct, frozen=True):
    limits: ClaimedLimits = ClaimedLimits()


class _Claim(msgspec.Struct, frozen=True):
    nats: _Nats = _Nats()
    exp: int = 0


class _AccountDetail(msgspec.Struct, frozen=True):
    account_name: str = ""
    name_tag: str = ""
    client_connections: int = 0
    leafnode_connections: int = 0
    subscriptions: int = 0
    decoded_jwt: _Claim | None = None
    expired: bool = False


class _AccountzReply(_AccountDetail, frozen=True):
    """The reply that lists accounts, the one about an account, and its content alone, as archives have it."""

    now: Instant | None = None
    account_detail: _AccountDetail | None = None
    accounts: tuple[str, ...] | None = None


def account_claims(exchanges: Iterable[Exchange], identities: Identities) -> tuple[AccountClaims | None, list[Gap]]:
    """The accounts that have a JWT, and gaps for what cannot be read; None if no server was queried."""
    uses: dict[tuple[str, str], AccountUse] = {}
    listed: dict[str, frozenset[str]] = {}
    gaps: list[Gap] = []
    asked = [
        e
        for e in exchanges
        if e.endpoint is Endpoint.ACCOUNTZ and e.access in (Access.SYSTEM, Access.MONITOR, Access.PASTED)
    ]
    for exchange in asked:
        try:
            identity, reply = open_reply(exchange, identities, _AccountzReply)
        except ReplyError as error:
            if _NOT_HERE not in str(error):
                gaps.append(unreadable(exchange, error))
            continue
        if reply.accounts is not None:
            listed[identities.name(identity)] = frozenset(reply.accounts)
        detail = reply.account_detail or reply
        if detail.decoded_jwt is not None:
            at = reply.now or identity.time or exchange.asked_at
            name = identities.name(identity)
            uses[name, detail.account_name] = _use(name, at, detail, detail.decoded_jwt)
    return AccountClaims(tuple(uses[key] for key in sorted(uses)), listed if uses else {}) if asked else None, gaps


def _use(server: str, at: datetime, detail: _AccountDetail, claim: _Claim) -> AccountUse:
    return AccountUse(
        server=server,
        account=detail.account_name,
        name=detail.name_tag,
        at=at,
        clients=detail.client_connections,
        leafs=detail.leafnode_connections,
        subscriptions=detail.subscriptions,
        limits=claim.nats.limits,
        expires=datetime.fromtimestamp(claim.exp, UTC) if 0 < claim.exp < _LATEST_S else None,
        expired=detail.expired,
    )
