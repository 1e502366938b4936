"""Accounts of operator mode as each server reports them: the limits in an account's JWT, and the use on that server.

Source: the ACCOUNTZ endpoint with an account (server: monitor.go accountInfo). Counts are of that one server.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.evidence import NOT_REPORTED, Evidence, EvidenceSource
from jsdoctor.model.finding import Observation, Subject


class ClaimedLimits(msgspec.Struct, frozen=True, gc=False):
    """Limits of an account's JWT; 0 and -1 mean none. `subs` is for each connection, not for the account."""

    conn: int = 0
    leaf: int = 0
    subs: int = 0


class AccountUse(msgspec.Struct, frozen=True, kw_only=True):
    """One account on one server. `account` is its public key, `name` its name tag. `at` is the server's clock.

    `expires`: when its JWT ends, None for never. `expired`: the server has taken it out of use for that.
    """

    server: str
    account: str
    name: str = ""
    at: datetime
    clients: int = 0
    leafs: int = 0
    subscriptions: int = 0
    limits: ClaimedLimits = ClaimedLimits()
    expires: datetime | None = None
    expired: bool = False

    @property
    def subject(self) -> Subject:
        """The account as the subject of a finding."""
        return Subject(kind="account", name=self.name or self.account)

    def observed(self, path: str, value: object) -> Observation:
        """A value of this server's account as evidence."""
        return Observation(source=self.server, path=f"{self.name or self.account}.{path}", value=value, at=self.at)


class AccountClaims(Evidence, frozen=True):
    """Every account with a JWT, on every server that knows it; empty outside of operator mode.

    `listed` has the public keys of all accounts that a server knows, by the server's name.
    """

    source = EvidenceSource.SYSTEM
    parts = ("claims",)
    unavailable = NOT_REPORTED
    said_by = ("claims",)
    of_deployment = True
    left_out_by = frozenset({"reply"})

    uses: tuple[AccountUse, ...]
    listed: dict[str, frozenset[str]] = msgspec.field(default_factory=dict)
