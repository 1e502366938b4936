"""JSD728: a leaf node that is connected to two servers of one cluster for one account, so that messages cross twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import TypeAlias

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Subject, failed, passed, suspected
from jsdoctor.model.links import Leaf, Links, ServerLinks

_Site: TypeAlias = tuple[str, str, str, str]
"""Cluster of the hub, name and address of the leaf node, account."""
_Ends: TypeAlias = dict[str, Leaf]
"""The one connection that each server of the hub has with a site, by the server's name."""
_MIN_MESSAGES = 20
"""Fewer messages on a link prove nothing."""
_MIN_SHARE = 0.95
"""Links carry the same messages if the smaller number is at least this share of the larger one."""


@check("cluster_health.leaf_linked_twice")
def leaf_linked_twice(links: Links) -> Iterator[Finding]:
    """Find links of a leaf node to two servers that carry the same number of messages: links of two accounts do not."""
    before = _sites(links.earlier[-1]) if links.earlier else None
    for site, ends in _sites(links.servers).items():
        subject = Subject(kind="server", name=site[1])
        if before is None:
            if len(ends) > 1:
                yield suspected(subject, _links_text(site, ends), "run with --samples 2 or more")
            continue
        lasting = {server: end for server, end in ends.items() if server in before.get(site, {})}
        if len(lasting) < 2:
            yield passed(subject)
            continue
        grown = {server: _grown(before[site][server], end) for server, end in lasting.items()}
        pairs = [pair for pair in combinations(sorted(lasting), 2) if _are_copies(grown[pair[0]], grown[pair[1]])]
        if pairs:
            yield _finding(subject, site, {server: lasting[server] for server in pairs[0]}, grown, links)
        elif all(max(counts) < _MIN_MESSAGES for counts in grown.values()):
            reason = f"{_links_text(site, lasting)}, and few messages crossed"
            yield suspected(subject, reason, "run again while messages cross, or with --interval 30s")
        else:
            yield passed(subject)


def _links_text(site: _Site, ends: Iterable[str]) -> str:
    return f"{' and '.join(sorted(ends))} have a link with it for account {site[3]} each"


def _sites(servers: tuple[ServerLinks, ...]) -> Mapping[_Site, _Ends]:
    found: dict[_Site, _Ends] = defaultdict(dict)
    for links in servers:
        for leaf in links.leafs or () if links.cluster else ():
            if leaf.name and not leaf.is_spoke and leaf.in_msgs is not None and leaf.out_msgs is not None:
                found[links.cluster, leaf.name, leaf.ip, leaf.account][links.server] = leaf
    return found


def _grown(before: Leaf, now: Leaf) -> tuple[int, int]:
    """Messages in and out since the sample before; for a new connection, since it was made."""
    same = before.port == now.port
    return (
        (now.in_msgs or 0) - ((before.in_msgs or 0) if same else 0),
        (now.out_msgs or 0) - ((before.out_msgs or 0) if same else 0),
    )


def _are_copies(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether both links carried as many messages, in one direction at least."""
    return any(
        min(mine, theirs) >= _MIN_MESSAGES and min(mine, theirs) >= _MIN_SHARE * max(mine, theirs)
        for mine, theirs in zip(one, other, strict=True)
    )


def _finding(subject: Subject, site: _Site, pair: _Ends, grown: Mapping[str, tuple[int, int]], links: Links) -> Finding:
    cluster, name, _, account = site
    one, other = pair
    return failed(
        subject,
        f"it is linked to {one} and to {other} of {cluster} for account {account}, and both links carried"
        f" as many messages ({max(grown[one]):,} and {max(grown[other]):,}): each message between it and the cluster"
        " crosses twice",
        *(
            member.observed(
                f"leafs[{name}].in_msgs, out_msgs", (pair[member.server].in_msgs, pair[member.server].out_msgs)
            )
            for member in links.servers
            if member.server in pair
        ),
        confidence=Confidence.MEDIUM,
        measured=(2, 1, "count"),
        advice=f"In the configuration of {name}, list the servers of {cluster} in the urls of one remote, and take the"
        " other remote for this account away.",
    )
