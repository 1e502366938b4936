"""JSD824: an account at its limit of streams, or a stream at the limit of consumers that its account has for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import Account, Accounts, ConnectedServer, Servers, Tier
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_COUNTS_TIER_SINCE = (2, 14, 6)
"""From this version on, a cluster counts only the consumers of a tier against its limit, before all of the stream."""


@check("server_health.asset_limits")
def asset_limits(
    accounts: Accounts,
    snapshots: SnapshotSeries | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
    params: Params,
) -> Iterator[Finding]:
    """Judge the limits of accounts, or of their tiers, which are by number of replicas (server: checkStreamLimits).

    Streams count in the whole account or tier, consumers in each stream (server: addConsumerWithAssignment).
    """
    near = params.number("near")
    by_account: dict[str, list[Stream]] = defaultdict(list)
    for stream in snapshots.last.streams if snapshots else ():
        by_account[stream.account].append(stream)
    for account in accounts.accounts:
        streams = by_account.get(account.name, [])
        uneven = [s for s in streams if _counts_all_tiers(s, servers, connected)]
        findings = [finding for tier in account.tiers for finding in _tier_findings(account, tier, streams, near)]
        limited = any(tier.limits.max_streams > 0 or tier.limits.max_consumers > 0 for tier in account.tiers)
        if findings:
            yield max(findings, key=itemgetter(0))[1]
        elif limited:
            doubts = (_doubt(account, tier, streams, uneven, near) for tier in account.tiers)
            yield next(filter(None, doubts), None) or passed(account.subject)


class _Use(NamedTuple):
    """A limit of a tier, and how much of it is used: by the account, or by the stream that uses most."""

    noun: str
    used: int
    limit: int
    what: str
    observed: Observation


def _tier_findings(
    account: Account, tier: Tier, streams: Sequence[Stream], near: float
) -> Iterator[tuple[float, Finding]]:
    """The limits that are used to `near` or more: the share that is used, and the finding."""
    for use in _uses(account, tier, streams):
        if use.limit > 0 and use.used >= near * use.limit:
            yield use.used / use.limit, _finding(account, tier, use, near)


def _uses(account: Account, tier: Tier, streams: Sequence[Stream]) -> Iterator[_Use]:
    limits, tier_text = tier.limits, f" of tier {tier.name}" if tier.name else ""
    what = f"{tier.streams:,} of {limits.max_streams:,} streams{tier_text} are in use"
    observed = Observation(account.source, f"{_path(tier)}streams", tier.streams, account.at)
    yield _Use("streams", tier.streams, limits.max_streams, what, observed)
    counted = [(count, stream) for stream in streams if (count := _consumers(stream, tier)) is not None]
    if counted:
        used, fullest = max(counted, key=itemgetter(0))
        limit, name = limits.max_consumers, fullest.name
        what = f"{name} has {used:,} of the {limit:,} consumers{tier_text} that the account allows each stream"
        yield _Use("consumers", used, limit, what, fullest.observed(f"{name}.state.consumer_count", used))


def _path(tier: Tier) -> str:
    return f"{tier.name}." if tier.name else ""


def _finding(account: Account, tier: Tier, use: _Use, near: float) -> Finding:
    full = use.used >= use.limit
    return failed(
        account.subject,
        f"{use.what}: {'no' if full else 'soon no'} further {use.noun[:-1]} can be created"
        + (" on it, ephemeral ones and those of key-value watchers included" if use.noun == "consumers" else ""),
        use.observed,
        Observation(account.source, f"{_path(tier)}limits.max_{use.noun}", use.limit, account.at),
        severity=Severity.ERROR if full else None,
        measured=(use.used / use.limit, 1.0 if full else near, "ratio"),
        remedy={"action": "server.look_at_account"},
    )


def _consumers(stream: Stream, tier: Tier) -> int | None:
    """How many consumers of the tier a stream has; None where not all of them were seen."""
    if not tier.name:
        return stream.state.consumer_count
    if not stream.consumers_seen:
        return None
    return sum(f"R{consumer.config.replicas_on(stream.config)}" == tier.name for consumer in stream.consumers)


def _doubt(
    account: Account, tier: Tier, streams: Sequence[Stream], uneven: Sequence[Stream], near: float
) -> Finding | None:
    """`unknown` if it is not known how many consumers of the tier some stream has; else None."""
    limit = tier.limits.max_consumers
    if limit <= 0:
        return None
    tier_text = f" of tier {tier.name}" if tier.name else ""
    unseen = tier.consumers - sum(_consumers(stream, tier) or 0 for stream in streams)
    if unseen >= near * limit:
        reason = (
            f"{unseen:,} of {tier.consumers:,} consumers{tier_text} are of streams that were not seen, and each stream"
        )
        return unknown(
            account.subject, f"{reason} may have {limit:,}", "a login of the account that may list its streams"
        )
    crowded = next((s for s in uneven if s.state.consumer_count >= near * limit), None) if tier.name else None
    if crowded is None:
        return None
    reason = (
        f"{crowded.name} has {crowded.state.consumer_count:,} consumers and tier {tier.name} allows {limit:,}: in"
        " clusters before 2.14.6 those of other tiers count against it as well"
    )
    return unknown(account.subject, reason, "upgrade to 2.14.6 or later, or raise the limit of the tier")


def _counts_all_tiers(stream: Stream, servers: Servers | None, connected: ConnectedServer | None) -> bool:
    """Whether the servers count consumers of all tiers against the limit of one (nats-server#8483)."""
    version = release(version_at(stream.answered_by, servers, connected))
    return stream.is_clustered and () < version < _COUNTS_TIER_SINCE
