"""JSD729: a leaf node whose remote denies reads of single messages and keys, and lets watches and consumers pass."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.server import RemoteLeaf, Server, Servers
from jsdoctor.model.subjects import overlaps_any, subject_contains


@check("cluster_health.leaf_denies_gets")
def leaf_denies_gets(servers: Servers) -> Iterator[Finding]:
    """Judge remotes with deny rules. One that denies the whole API does not use JetStream over the link: no finding."""
    for server in servers.servers:
        remotes = server.varz.leaf.remotes if server.varz and server.varz.leaf else ()
        if not any(remote.deny.imports or remote.deny.exports for remote in remotes):
            continue
        found = [finding for remote in remotes if (finding := _judged(server, remote))]
        yield from found or [passed(server.subject)]


def _judged(server: Server, remote: RemoteLeaf) -> Finding | None:
    """None where it denies no gets, or consumers as well."""
    for way, side, denied in (("exports", "on", remote.deny.exports), ("imports", "beyond", remote.deny.imports)):
        if pattern := _denied_gets(denied):
            return failed(
                server.subject,
                f"its leaf node remote (account {remote.local_account or '$G'}) denies {pattern} and lets requests"
                f" for consumers pass: for clients {side} this leaf node, reading one key or message fails with 'no"
                " responders', while watches, consumers and puts work",
                server.observed(f"leaf.remotes.deny.{way}", pattern),
            )
    return None


def _denied_gets(denied: tuple[str, ...]) -> str:
    """The rule that denies all gets of a domain, where its consumers are not denied; empty if there is none."""
    for pattern in denied:
        domain, is_api, _ = pattern.partition(".API.")
        gets, consumers = f"{domain}.API.DIRECT.GET.>", f"{domain}.API.CONSUMER.>"
        if is_api and subject_contains(pattern, gets) and not overlaps_any(consumers, denied):
            return pattern
    return ""
