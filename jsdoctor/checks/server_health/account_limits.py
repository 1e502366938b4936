"""JSD811, for accounts: connections, leaf nodes and subscriptions against the limits in an account's JWT."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from jsdoctor.checks.registry import check
from jsdoctor.model.account_claims import AccountClaims, AccountUse
from jsdoctor.model.connections import Connections
from jsdoctor.model.finding import Finding, Observation, Severity, passed
from jsdoctor.model.params import Params

_Most = Mapping[str, tuple[int, Observation]]


class AccountLimitUse(msgspec.Struct, frozen=True):
    """How much of one limit is taken, and what happens when it is full."""

    text: str
    used: int
    limit: int
    then: str
    evidence: tuple[Observation, ...]


@check("server_health.account_limits")
def account_limits(claims: AccountClaims, connections: Connections | None, params: Params) -> Iterator[Finding]:
    """Each server counts its own connections; the limit is on their sum (server: accounts.go).

    The limit on subscriptions is one for each connection of the account (server: client.go applyAccountLimits).
    """
    warn_at = params.number("max_account")
    by_account: dict[str, list[AccountUse]] = defaultdict(list)
    for use in claims.uses:
        by_account[use.account].append(use)
    most = _most_subscriptions(connections)
    for account, uses in sorted(by_account.items()):
        shares = [share for share in _shares(uses, most, account) if share.limit > 0]
        late = [share for share in shares if share.used >= warn_at * share.limit]
        if late:
            yield _finding(uses[0], late, warn_at)
        else:
            yield passed(uses[0].subject)


def _shares(uses: Sequence[AccountUse], most: _Most, account: str) -> Iterator[AccountLimitUse]:
    limits = uses[-1].limits
    yield AccountLimitUse(
        "client connections",
        sum(use.clients for use in uses),
        limits.conn,
        "new clients are refused (maximum account active connections exceeded)",
        tuple(use.observed("client_connections", use.clients) for use in uses),
    )
    yield AccountLimitUse(
        "leaf node connections",
        sum(use.leafs for use in uses),
        limits.leaf,
        "new leaf nodes are refused",
        tuple(use.observed("leafnode_connections", use.leafs) for use in uses),
    )
    if account in most:
        held, seen = most[account]
        yield AccountLimitUse(
            "subscriptions of one connection",
            held,
            limits.subs,
            "that client's next subscriptions are refused (maximum subscriptions exceeded)",
            (seen,),
        )


def _most_subscriptions(connections: Connections | None) -> _Most:
    """For each account the connection with the most subscriptions. Without a login a connection has no account."""
    most: dict[str, tuple[int, Observation]] = {}
    for server in connections.servers if connections else ():
        for client in server.open or ():
            if client.account and client.subscriptions > most.get(client.account, (0,))[0]:
                path = f"connections[{client.cid}].subscriptions"
                most[client.account] = client.subscriptions, server.observed(path, client.subscriptions)
    return most


def _finding(account: AccountUse, late: Sequence[AccountLimitUse], warn_at: float) -> Finding:
    worst = max(late, key=lambda share: share.used / share.limit)
    full = worst.used >= worst.limit
    return Finding(
        subject=account.subject,
        severity=Severity.ERROR if full else Severity.WARNING,
        message="; ".join(
            f"{share.used:,} of {share.limit:,} {share.text} that its JWT allows are in use:"
            f" {'' if share.used >= share.limit else 'at the limit '}{share.then}"
            for share in late
        ),
        measured=worst.used / worst.limit,
        threshold=1.0 if full else warn_at,
        unit="ratio",
        evidence=tuple(observation for share in late for observation in share.evidence),
        remedy={"action": "server.look_at_account"},
    )
