"""The accounts that have Raft groups: servers report the groups of one account at a time, and only by its name."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.exchange import Exchange
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.parse.jsz import accounts_of

MAX_RAFT_ACCOUNTS = 64
"""One request each: past this many, collecting would take longer than an operator waits."""


def clustered_accounts(replies: Iterable[Exchange]) -> list[str]:
    """Ids of the accounts with JetStream, sorted, from JSZ replies.

    None where no server is in a cluster: there are no groups. In operator mode RAFTZ knows accounts by their id only.
    """
    names = {account.id or account.name for jsz, account in accounts_of(replies) if jsz.meta_cluster is not None}
    return sorted(names - {""})


def too_many_accounts(count: int) -> Gap:
    """The gap for the accounts that are left out."""
    return Gap(
        kind="raft",
        subject=CLUSTER,
        reason=f"of {count:,} accounts with JetStream, the Raft groups of {MAX_RAFT_ACCOUNTS} were requested",
        how_to_get="request the others one by one: nats server request raft --account NAME",
        requested=False,
    )
