"""JSD851: addresses that servers give to clients, and that clients cannot reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.client_addresses import ClientAddresses, TriedAddress
from jsdoctor.model.finding import CLUSTER, Finding, Severity, failed, passed
from jsdoctor.model.wording import listed

_SHOWN = 3
_ADVICE = (
    "Set client_advertise on each server to an address that clients reach, or no_advertise in the cluster block where "
    "clients come through a load balancer."
)


@check("server_health.client_addresses")
def client_addresses(addresses: ClientAddresses) -> Iterator[Finding]:
    """Judge the addresses that were tried. Without any, clients use those of their configuration."""
    unreachable = [tried for tried in addresses.tried if tried.error]
    elsewhere = [tried for tried in addresses.tried if _is_elsewhere(tried, addresses.cluster)]
    if not (unreachable or elsewhere):
        yield passed(CLUSTER)
        return
    yield failed(
        CLUSTER,
        "; ".join(_message_parts(addresses, unreachable, elsewhere)),
        *addresses.observed((*unreachable, *elsewhere)),
        severity=Severity.ERROR if len(unreachable) == len(addresses.tried) else None,
        measured=(len(unreachable) + len(elsewhere), 0, "count"),
        advice=_ADVICE,
    )


def _is_elsewhere(tried: TriedAddress, cluster: str) -> bool:
    return bool(cluster and tried.cluster) and tried.cluster != cluster


def _message_parts(
    addresses: ClientAddresses, unreachable: Sequence[TriedAddress], elsewhere: Sequence[TriedAddress]
) -> Iterator[str]:
    if unreachable:
        named = listed((f"{tried.address} ({tried.error})" for tried in unreachable), _SHOWN)
        yield (
            f"{len(unreachable)} of {len(addresses.tried)} addresses that servers give to clients cannot be reached"
            f" from here: {named}"
        )
        yield "a client that loses its connection tries them before it comes back, or stays away"
    if elsewhere:
        named = listed((f"{tried.address} is {tried.server} of cluster {tried.cluster}" for tried in elsewhere), _SHOWN)
        yield f"addresses that servers of {addresses.cluster} give to clients lead to another cluster: {named}"
