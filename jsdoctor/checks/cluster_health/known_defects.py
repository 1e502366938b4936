"""JSD720: a server version with a known defect, in a deployment that uses what the defect is in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.cluster_health.defect_conditions import CONDITIONS
from jsdoctor.checks.registry import check
from jsdoctor.model.defect import Affected, Defect, KnownDefects
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Observation, Severity, Subject, passed
from jsdoctor.model.release import release
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_SHOWN = 3


@check("cluster_health.known_defects")
def known_defects(
    defects: KnownDefects, snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None
) -> Iterator[Finding]:
    """Always an info: that a version has a defect does not say that it struck."""
    names = {server.name: (server.version, server.domain) for server in (servers.servers if servers else ())}
    if not names and connected:
        names = {connected.server_name: (connected.version, "")}
    for domain in sorted({domain for _, domain in names.values()}):
        versions = sorted({version for version, where in names.values() if where == domain}, key=release)
        streams = [s for s in snapshots.last.streams if s.domain in ("", domain)]
        hits = [
            (defect, version, affected, used)
            for defect in defects.defects
            for version in versions
            if (affected := _affected(defect, version)) and (used := _used(defect, streams))
        ]
        subject = Subject(kind="cluster", name=domain) if domain else CLUSTER
        yield _finding(subject, hits) if hits else passed(subject)


def _affected(defect: Defect, version: str) -> Affected | None:
    known = release(version)
    return next((a for a in defect.affected if known and release(a.first) <= known <= release(a.last)), None)


def _used(defect: Defect, streams: Sequence[Stream]) -> list[str]:
    condition = CONDITIONS.get(defect.uses)
    return sorted(stream.name for stream in streams if condition and condition(stream))


def _finding(subject: Subject, hits: Sequence[tuple[Defect, str, Affected, list[str]]]) -> Finding:
    newest = max((affected.fixed_in for _, _, affected, _ in hits), key=release)
    parts = [
        f"{version} until {affected.fixed_in}: {defect.what} ({', '.join(used[:_SHOWN])}"
        + (f" and {len(used) - _SHOWN:,} more streams)" if len(used) > _SHOWN else ")")
        for defect, version, affected, used in hits
    ]
    return Finding(
        subject=subject,
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        message=f"servers have known defects in what is used here, fixed in {newest}. " + ". ".join(parts),
        measured=len({defect.id for defect, _, _, _ in hits}),
        threshold=0,
        unit="count",
        evidence=tuple(Observation(version, defect.id, defect.source) for defect, version, _, _ in hits),
    )
