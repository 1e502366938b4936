"""JSD720: a server version with a known defect, in a deployment that uses what the defect is in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

from jsdoctor.checks.cluster_health.defect_conditions import CONDITIONS
from jsdoctor.checks.registry import check
from jsdoctor.model.defect import Affected, Defect, Harm, KnownDefects
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Observation, Subject, passed
from jsdoctor.model.release import release
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted

_SHOWN = 3
_DESCRIBED = 5
"""Number of defects in the message, the worst first; all of them are in the evidence."""
_WORST_FIRST = get_args(Harm)


class _DefectUse(NamedTuple):
    """A defect that a version of a domain's servers has, and the streams that use what it is in."""

    defect: Defect
    version: str
    affected: Affected
    used: list[str]


@check("cluster_health.known_defects")
def known_defects(
    defects: KnownDefects, snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None
) -> Iterator[Finding]:
    """Always an info: a version with a defect is no proof that the defect occurred."""
    names = {server.name: (server.version, server.domain) for server in (servers.servers if servers else ())}
    if not names and connected:
        names = {connected.server_name: (connected.version, "")}
    for domain in sorted({domain for _, domain in names.values()}):
        versions = sorted({version for version, where in names.values() if where == domain}, key=release)
        streams = [s for s in snapshots.last.streams if s.domain in ("", domain)]
        hits = [
            _DefectUse(defect, version, affected, used)
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


def _finding(subject: Subject, hits: Sequence[_DefectUse]) -> Finding:
    newest = max((hit.affected.fixed_in for hit in hits), key=release)
    worst = sorted(hits, key=lambda hit: _WORST_FIRST.index(hit.defect.harm))
    parts = [
        f"{hit.version} until {hit.affected.fixed_in}: {hit.defect.what} ({', '.join(hit.used[:_SHOWN])}"
        + (f" and {len(hit.used) - _SHOWN:,} more streams)" if len(hit.used) > _SHOWN else ")")
        for hit in worst[:_DESCRIBED]
    ]
    count = len({hit.defect.id for hit in hits})
    more = f". {len(worst) - _DESCRIBED:,} more are in the evidence" if len(worst) > _DESCRIBED else ""
    return Finding(
        subject=subject,
        confidence=Confidence.MEDIUM,
        message=(
            f"servers have {counted(count, 'known defect')} in what is used here, fixed in {newest}. "
            + ". ".join(parts)
            + more
        ),
        measured=count,
        threshold=0,
        unit="count",
        evidence=tuple(
            Observation(
                hit.version, hit.defect.id, f"{hit.defect.what}; fixed in {hit.affected.fixed_in}: {hit.defect.source}"
            )
            for hit in worst
        ),
    )
