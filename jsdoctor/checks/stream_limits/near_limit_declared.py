"""JSD602, from manifests: more consumers declared than the stream will take, or nearly as many."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.declared.index import Declarations
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted


@check("stream_limits.near_limit_declared")
def near_limit_declared(manifests: Manifests, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """Those that are deployed count, too; past the limit the server refuses (10026, server: consumer.go)."""
    warn_at, least = params.number("warn_fraction"), params.integer("min_consumers")
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    for stream in manifests.kept_streams():
        most = stream.stored.max_consumers
        if most <= 0:
            continue
        if unsure := indeterminate(stream, "max_consumers"):
            yield unsure
            continue
        names = _consumers(stream, declared, deployed)
        over = len(names) > most
        if not over and (most < least or len(names) / most < warn_at):
            yield passed(stream.subject)
            continue
        yield Finding(
            subject=stream.subject,
            severity=Severity.ERROR if over else Severity.WARNING,
            message=f"{counted(len(names), 'consumer')} will want a place and max_consumers is {most:,}: "
            + ("the server refuses the last of them (error 10026)" if over else "few more can be created"),
            measured=len(names),
            threshold=most,
            unit="count",
            evidence=(stream.shows("max_consumers", most),),
            remedy=BY_HAND,
        )


def _consumers(stream: DeclaredStream, declared: Declarations, deployed: Deployed) -> set[str]:
    names = {consumer.name for consumer in declared.consumers_of(stream)}
    there = deployed.stream(stream.name)
    return names | {consumer.name for consumer in (there.consumers if there else ())}
