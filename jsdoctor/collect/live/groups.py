"""Which Raft groups to request: servers report those of one account at a time, and only by its name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from jsdoctor.model.exchange import Exchange
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.parse.jsz import accounts_of, read_jsz
from jsdoctor.parse.replies import ReplyError

MAX_RAFT_ACCOUNTS = 64
"""One request each: past this many, collecting would take longer than an operator waits."""


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
