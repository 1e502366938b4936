"""JSD817, from manifests: a configuration with which no server starts."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.manifest import Manifests, Mistake


def _severity(wrong: list[Mistake], told: list[Mistake]) -> Severity:
    """What only some servers refuse is an information."""
    if wrong:
        return Severity.ERROR
    return Severity.INFO if all(mistake.unsure for mistake in told) else Severity.WARNING


@check("server_health.start_failed_declared")
def start_failed_declared(manifests: Manifests) -> Iterator[Finding]:
    """Only settings that other rules read are looked at, so a configuration without a mistake in them is no pass:
    `nats-server -t` knows all of them. What the chart ignores is a warning.
    """
    for servers in manifests.servers:
        wrong = [mistake for mistake in servers.mistakes if not mistake.ignored]
        told = wrong or list(servers.mistakes)
        if not told:
            continue
        what = "this cannot be deployed" if servers.is_chart else "no server starts with this"
        yield Finding(
            subject=servers.subject,
            severity=_severity(wrong, told),
            message=(f"{what}: " if wrong else "") + "; ".join(mistake.says for mistake in told),
            evidence=tuple(mistake.place.shows(mistake.says) for mistake in told),
            remedy=BY_HAND,
        )
