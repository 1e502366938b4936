"""JSD719: a leaf node that is not connected to a hub that its configuration names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jsdoctor.checks.cluster_health.links import all_young, by_server
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.links import Links
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers

_GLOBAL = "$G"
"""The account of a remote that names none."""


@check("cluster_health.hub_lost")
def hub_lost(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Each remote of the configuration is one connection of its account, to one of its addresses."""
    told = by_server(links)
    for server in servers.servers:
        remotes = server.varz.leaf.remotes if server.varz and server.varz.leaf else ()
        wanted = Counter(remote.local_account or _GLOBAL for remote in remotes if not remote.disabled)
        if not wanted:
            continue
        listed = told[server.name].leafs if server.name in told else None
        if listed is None:
            yield unknown(server.subject, "its leaf node connections were not read", "see the gaps of this run")
            continue
        missing = wanted - Counter(leaf.account for leaf in listed if leaf.is_spoke)
        if not missing:
            yield passed(server.subject)
        elif all_young([server], params.integer("start_up")):
            yield unknown(server.subject, "it has just started and may still connect", "run again in a minute")
        else:
            accounts = ", ".join(sorted(missing))
            yield Finding(
                subject=server.subject,
                message=f"{missing.total():,} of {wanted.total():,} leaf node remotes of its configuration are not"
                f" connected (account {accounts}): its clients work on their own, and nothing goes to the hub or comes"
                " from it; mirrors and sources across the link stall",
                measured=missing.total(),
                threshold=0,
                unit="count",
                evidence=(
                    server.observed("leaf.remotes", wanted.total()),
                    told[server.name].observed("leafs", sum(1 for leaf in listed if leaf.is_spoke)),
                ),
            )
