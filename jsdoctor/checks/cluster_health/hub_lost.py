"""JSD719: a leaf node that is not connected to a hub that its configuration names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

from jsdoctor.checks.cluster_health.links import LinksOverTime, any_young, before_fall, by_server, links_over_time
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.links import Leaf, Links
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.server_past import ServerPast

_GLOBAL = "$G"
"""The account of a remote that names none."""


@check("cluster_health.hub_lost")
def hub_lost(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Each remote of the configuration is one connection of its account, to one of its addresses."""
    server_links = by_server(links)
    for server in servers.servers:
        remotes = server.varz.leaf.remotes if server.varz and server.varz.leaf else ()
        wanted = Counter(remote.local_account or _GLOBAL for remote in remotes if not remote.disabled)
        if not wanted:
            continue
        listed = server_links[server.name].leafs if server.name in server_links else None
        if listed is None:
            yield unknown(server.subject, "its leaf node connections were not read", "see the gaps of this run")
            continue
        missing = wanted - Counter(leaf.account for leaf in listed if leaf.is_spoke)
        if not missing:
            yield passed(server.subject)
        elif any_young([server], params.integer("start_up")):
            yield unknown(server.subject, "it has just started and may still connect", "run again in a minute")
        else:
            accounts = ", ".join(sorted(missing))
            yield failed(
                server.subject,
                f"{missing.total():,} of {wanted.total():,} leaf node remotes of its configuration are not"
                f" connected (account {accounts}): nothing of that account goes over them, and mirrors and"
                " sources across them stall",
                server.observed("leaf.remotes", wanted.total()),
                server_links[server.name].observed("leafs", sum(1 for leaf in listed if leaf.is_spoke)),
                measured=(missing.total(), 0, "count"),
            )


@check("cluster_health.leaf_lost_history")
def leaf_lost_history(past: ServerPast) -> Iterator[Finding]:
    """Leaf node connections that were there for some time and are gone, by account.

    A leaf node that moves to another server of its hub takes its connection along, so the servers together must have
    fewer. Metrics show neither which side is the leaf node nor whether it was switched off.
    """
    known = [link for link in links_over_time(past) if all(links.leafs is not None for links in link.present)]
    lost = {links.server.name: _lost(links) for links in known}
    gained = sum((_gained(links) for links in known), Counter[str]())
    for history in known:
        gone = +lost[history.server.name]
        moved = gone & gained
        gained -= moved
        missing = gone - moved
        if missing:
            yield _leafs_gone(history, missing)
        elif any(links.leafs for links in history.earlier):
            yield passed(history.server.subject)


def _by_account(leafs: Iterable[Leaf] | None) -> Counter[str]:
    return Counter(leaf.account for leaf in leafs or ())


def _present_counts(links_over_time: LinksOverTime) -> Counter[str]:
    """The most connections of each account in the present samples."""
    return reduce(or_, (_by_account(links.leafs) for links in links_over_time.present))


def _lost(links_over_time: LinksOverTime) -> Counter[str]:
    """By account, how many connections fewer a server has than before their number fell."""
    now = _present_counts(links_over_time)
    earlier = [_by_account(links.leafs) for links in links_over_time.earlier if links.leafs is not None]
    accounts = {account for counts in earlier for account in counts}
    before = {account: before_fall([counts[account] for counts in earlier], now[account]) for account in accounts}
    return Counter({account: min(counts) - now[account] for account, counts in before.items() if counts})


def _gained(links_over_time: LinksOverTime) -> Counter[str]:
    """By account, how many connections more a server has than in its earliest sample."""
    first = next((links.leafs for links in links_over_time.earlier if links.leafs is not None), ())
    return _present_counts(links_over_time) - _by_account(first)


def _leafs_gone(links_over_time: LinksOverTime, missing: Counter[str]) -> Finding:
    enough = _present_counts(links_over_time) + missing
    had = [links for links in links_over_time.earlier if _by_account(links.leafs) >= enough][-1]
    here = {leaf.name for leaf in links_over_time.present[-1].leafs or ()}
    names = {leaf.name for leaf in had.leafs or () if leaf.account in missing} - here - {""}
    ends = f", to {', '.join(sorted(names))}" if names else ""
    return failed(
        links_over_time.server.subject,
        f"{missing.total():,} leaf node connections that it had until {had.at:%Y-%m-%d %H:%M} UTC are gone"
        f" (account {', '.join(sorted(missing))}{ends}): nothing goes over them, and mirrors and sources across them"
        " stall, unless the other side was switched off on purpose",
        had.observed("leafs", len(had.leafs or ())),
        links_over_time.present[-1].observed("leafs", len(links_over_time.present[-1].leafs or ())),
        severity=Severity.WARNING,
        measured=(missing.total(), 0, "count"),
    )
