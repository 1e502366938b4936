"""Subject mappings of accounts as each server applies them, with what the accounts import and export.

Source: the ACCOUNTZ endpoint with an account (server: monitor.go accountInfo).
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Observation


class Destination(msgspec.Struct, frozen=True):
    """Where a mapping leads. `weight` is the sum of its own and those before it in its cluster, as the server keeps it.

    `cluster`: only for clients of that cluster; empty for all others.
    """

    subject: str = ""
    weight: int = 0
    cluster: str = ""


class MappedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One account on one server of `cluster`. `names`: its name, or its public key and name tag.

    `shared`: subjects that it exports, and those under which it imports services. `leafs`: its leaf connections.
    """

    server: str
    cluster: str = ""
    names: frozenset[str]
    at: datetime
    mappings: dict[str, tuple[Destination, ...]]
    shared: tuple[str, ...] = ()
    leafs: int = 0

    def destinations(self, source: str) -> tuple[Destination, ...]:
        """Those that apply to clients of this server: of its cluster if any name it (server: accounts.go)."""
        own = tuple(d for d in self.mappings[source] if d.cluster and d.cluster == self.cluster)
        return own or tuple(d for d in self.mappings[source] if not d.cluster)

    def observed(self, source: str) -> Observation:
        """A mapping of this server as evidence."""
        value = [msgspec.to_builtins(destination) for destination in self.destinations(source)]
        return Observation(source=self.server, path=f"mappings.{source}", value=value, at=self.at)


class AccountMappings(Evidence, frozen=True):
    """Every account with streams whose own report a server sent, on each of these servers."""

    source = EvidenceSource.SYSTEM
    parts = ("mappings",)
    unavailable = not_offered(
        "the mappings of no account were requested: no server listed an account with streams, or the capture is older",
        "run again with a login of the system account; of captured evidence, capture it again",
    )
    said_by = ("mappings",)
    of_deployment = True
    left_out_by = frozenset({"reply"})

    accounts: tuple[MappedAccount, ...]
