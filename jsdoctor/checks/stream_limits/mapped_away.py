"""JSD634: a subject mapping of the account that takes messages away from a stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.account_mappings import AccountMappings, MappedAccount, transformed
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.subjects import common_subject, overlaps_any, subject_contains
from jsdoctor.model.wording import listed

_FoundMapping = tuple[str, MappedAccount]


@check("stream_limits.mapped_away")
def mapped_away(snapshots: SnapshotSeries, mappings: AccountMappings, servers: Servers) -> Iterator[Finding]:
    """Judge the mappings of each server: a reload may have changed them on some servers only."""
    domains = {server.name: server.domain for server in servers.servers}
    captured: dict[str, set[str]] = defaultdict(set)
    for stream in snapshots.last.streams:
        captured[stream.own_account].update(stream.config.subjects)
    unseen = _why_incomplete(snapshots.last, servers)
    by_account: dict[tuple[str, str], list[MappedAccount]] = defaultdict(list)
    for account in mappings.accounts:
        for name in account.names if account.server in domains else ():
            by_account[domains[account.server], name].append(account)
    for stream in snapshots.last.led_streams():
        known = by_account.get((stream.domain, stream.own_account))
        if known is None:
            yield unknown(
                stream.subject,
                "no server reported the mappings of its account",
                "nats server request accounts --account NAME shows them",
            )
            continue
        found = [
            (source, account) for account in known for source in account.mappings if _concerns(source, account, stream)
        ]
        leafs = any(account.leafs for account in known)
        reached = set().union(*captured.values()) if leafs else captured[stream.own_account]
        away = [(source, account) for source, account in found if _lost(source, account, reached)]
        lossy = [(source, account) for source, account in found if _total_weight(source, account) < _ALL_PERCENT]
        if away and (unseen or leafs):
            reason = unseen or "what is connected by leaf nodes may have a stream for the destination"
            yield unknown(
                stream.subject, f"{_maps(away)}, which no stream that was seen captures; {reason}", _HOW_TO_FIND
            )
        elif away:
            yield _away_finding(stream, away, reached)
        elif lossy:
            yield _lossy_finding(stream, lossy)
        elif found:
            yield passed(stream.subject)


_ALL_PERCENT = 100
_HOW_TO_FIND = "nats stream ls --all on the other side, or run again when all servers respond"


def _concerns(source: str, account: MappedAccount, stream: Stream) -> bool:
    """Whether clients' messages for the stream go by this mapping, and by no other."""
    if source.startswith("$") or stream.config.mirror or not overlaps_any(source, stream.config.subjects):
        return False
    shared = [common for subject in stream.config.subjects if (common := common_subject(source, subject))]
    return not any(overlaps_any(other, tuple(shared)) for other in account.mappings if other != source)


def _lost(source: str, account: MappedAccount, captured: Collection[str]) -> dict[str, int]:
    """The destinations, with their percentages, where neither a stream nor another account takes the messages."""
    reached = (*captured, *account.shared)
    shares = account.shares(source)
    return {to: share for to, share in shares if not overlaps_any(transformed(source, source, to), reached)}


def _total_weight(source: str, account: MappedAccount) -> int:
    return max((destination.weight for destination in account.destinations(source)), default=_ALL_PERCENT)


def _why_incomplete(snapshot: ClusterSnapshot, servers: Servers) -> str:
    """Why a stream may exist that was not seen; empty: all were seen."""
    sizes: dict[str, int] = defaultdict(int)
    seen: dict[str, int] = defaultdict(int)
    for server in servers.servers:
        seen[server.domain] += server.jetstream is not None
        meta = server.jetstream.meta_cluster if server.jetstream else None
        sizes[server.domain] = max(sizes[server.domain], meta.cluster_size if meta else 0)
    if snapshot.silent or any(size > seen[domain] for domain, size in sizes.items()):
        return "not all servers or streams responded"
    return ""


def _maps(found: Sequence[_FoundMapping]) -> str:
    routes = {f"{source} to {' and '.join(d.subject for d in a.destinations(source))}" for source, a in found}
    return f"its account maps {listed(sorted(routes), 3)}"


def _away_finding(stream: Stream, away: Sequence[_FoundMapping], captured: Collection[str]) -> Finding:
    lost = {(source, account.server): _lost(source, account, captured) for source, account in away}
    share = max(sum(percents.values()) for percents in lost.values())
    part = "" if share == _ALL_PERCENT else f" with {share} % of the messages"
    routes = {f"{source} to {' and '.join(percents)}" for (source, _), percents in lost.items()}
    whole = any(subject_contains(source, subject) for source, _ in away for subject in stream.config.subjects)
    return failed(
        stream.subject,
        f"its account maps {listed(sorted(routes), 3)}{part}, which no stream captures: what clients publish there is"
        ' not stored, and a publisher that waits for an acknowledgement gets "no responders"',
        stream.observed("config.subjects", list(stream.config.subjects)),
        *(account.observed(source) for source, account in away),
        severity=None if whole and not part else Severity.WARNING,
    )


def _lossy_finding(stream: Stream, lossy: Sequence[_FoundMapping]) -> Finding:
    total = min(_total_weight(source, account) for source, account in lossy)
    return failed(
        stream.subject,
        f"{_maps(lossy)} with weights of {total} % in all: of what clients publish there, {_ALL_PERCENT - total} % is"
        " dropped before the stream",
        *(account.observed(source) for source, account in lossy),
        severity=Severity.WARNING,
        measured=(total / _ALL_PERCENT, 1.0, "ratio"),
    )
