"""JSD824: an account at its limit of streams or consumers."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.server import Account, Accounts, Tier


@check("server_health.asset_limits")
def asset_limits(accounts: Accounts, params: Params) -> Iterator[Finding]:
    """Limits of tiers hold for each number of replicas on its own (server: jetstream.go, checkStreamLimits)."""
    near = params.number("near")
    for account in accounts.accounts:
        findings = [finding for tier in account.tiers for finding in _of_tier(account, tier, near)]
        limited = any(tier.limits.max_streams > 0 or tier.limits.max_consumers > 0 for tier in account.tiers)
        if findings:
            yield max(findings, key=itemgetter(0))[1]
        elif limited:
            yield passed(account.subject)


def _of_tier(account: Account, tier: Tier, near: float) -> Iterator[tuple[float, Finding]]:
    """Each limit that it is near to: the share that is used, and what is to be said of it."""
    limits = tier.limits
    kinds = (("streams", tier.streams, limits.max_streams), ("consumers", tier.consumers, limits.max_consumers))
    for noun, used, limit in kinds:
        if limit <= 0 or used < near * limit:
            continue
        full = used >= limit
        of, path = (f" of tier {tier.name}", f"{tier.name}.") if tier.name else ("", "")
        finding = Finding(
            subject=account.subject,
            severity=Severity.ERROR if full else None,
            message=f"{used:,} of {limit:,} {noun}{of} are in use: "
            + (f"no further {noun[:-1]} can be created" if full else f"soon no further {noun[:-1]} can be created")
            + (", ephemeral ones and those of key-value watchers included" if noun == "consumers" else ""),
            measured=used / limit,
            threshold=1.0 if full else near,
            unit="ratio",
            evidence=(
                Observation(account.source, f"{path}{noun}", used, account.at),
                Observation(account.source, f"{path}limits.max_{noun}", limit, account.at),
            ),
            remedy={"action": "server.look_at_account"},
        )
        yield used / limit, finding
