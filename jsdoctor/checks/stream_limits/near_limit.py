"""JSD602: a stream near a limit, where reaching it refuses messages or deletes unprocessed work.

From manifests: more consumers declared than the stream will take, or nearly as many.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Declarations, Deployed
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.room import MoreRoom, room
from jsdoctor.checks.streams.limits import (
    StreamLimitUse,
    consumer_fill,
    histories,
    refuses_when_full,
    storage_fills,
    time_to_full_ns,
)
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted, span


@check("stream_limits.near_limit")
def near_limit(
    snapshots: SnapshotSeries, trend: Trend | None, servers: Servers | None, params: Params
) -> Iterator[Finding]:
    """Judge limits; not those of storage for a ring buffer (limits retention, discard old), which is meant to be full.

    JSD603 judges streams that refuse messages already.
    """
    warn_at, fail_at = params.number("warn_fraction"), params.number("max_fraction")
    min_consumers, readings = params.integer("min_consumers"), histories(trend)
    defaults = _default_max_consumers(servers)
    for stream in snapshots.last.led_streams():
        fills = _judged(stream, min_consumers, defaults.get(stream.answered_by, 0))
        if not fills or (refuses_when_full(stream) and any(fill.no_room for fill in storage_fills(stream))):
            continue
        worst = max(fills, key=lambda fill: fill.share)
        if worst.share < warn_at:
            yield passed(stream.subject)
            continue
        more = room(stream, trend, worst) if worst.noun != "consumers" else _MORE_CONSUMERS
        severe = worst.share >= fail_at
        left_ns = time_to_full_ns(worst, readings.get((stream.account, stream.name)))
        yield failed(
            stream.subject,
            f"{worst.used:,} of {worst.limit:,} {worst.noun} ({worst.key}) are used"
            + (f", the rest lasts {span(left_ns)} at the present rate" if left_ns else "")
            + f": {_consequence(stream, worst)}",
            *worst.observed(stream),
            severity=None if severe else Severity.WARNING,
            measured=(worst.share, fail_at if severe else warn_at, "ratio"),
            remedy=more.remedy,
            advice=more.advice,
        )


def _default_max_consumers(servers: Servers | None) -> dict[str, int]:
    """By server, the most consumers of a stream without a limit of its own; 0: any number, as before 2.15."""
    limit = {}
    for server in servers.servers if servers else ():
        limits = server.varz.jetstream.limits if server.varz and server.varz.jetstream else None
        limit[server.name] = limits.default_max_consumers if limits else 0
    return limit


def _judged(stream: Stream, min_consumers: int, default_consumers: int) -> list[StreamLimitUse]:
    if stream.config.sealed:
        return []
    matters = refuses_when_full(stream) or stream.config.retention != "limits"
    fills = list(storage_fills(stream)) if matters else []
    consumers = consumer_fill(stream, default_consumers)
    # A small max_consumers is taken for the intended number; reaching it is the normal state.
    if consumers and consumers.limit >= min_consumers:
        fills.append(consumers)
    return fills


def _consequence(stream: Stream, fill: StreamLimitUse) -> str:
    if fill.noun == "consumers":
        return "at the limit no further consumer can be created"
    if refuses_when_full(stream):
        return "at the limit new messages are refused"
    return "at the limit each new message deletes the oldest one, processed or not"


_MORE_CONSUMERS = MoreRoom({"action": "stream.look_at_consumers"})


@check("stream_limits.near_limit_declared")
def near_limit_declared(manifests: Manifests, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """Judge declared and deployed consumers together; past the limit the server refuses further ones (10026)."""
    warn_at, least = params.number("warn_fraction"), params.integer("min_consumers")
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    for stream in manifests.kept_streams():
        most = stream.stored.max_consumers
        if unsure := indeterminate(stream, "max_consumers"):
            yield unsure
            continue
        if most <= 0:
            continue
        names, deployed_count = _consumers(stream, declared, deployed)
        is_exceeded = len(names) > max(most, deployed_count)
        if not is_exceeded and (most < least or len(names) / most < warn_at):
            yield passed(stream.subject)
            continue
        few = "those that are there stay, and no further one can be created"
        few = "few more can be created" if most > len(names) else few
        yield failed(
            stream.subject,
            f"{counted(len(names), 'consumer')} will want a place and max_consumers is {most:,}: "
            + ("the server refuses the last of them (error 10026)" if is_exceeded else few),
            stream.shows("max_consumers", most),
            severity=Severity.ERROR if is_exceeded else Severity.WARNING,
            measured=(len(names), most, "count") if is_exceeded else (len(names) / most, warn_at, "ratio"),
        )


def _consumers(stream: DeclaredStream, declared: Declarations, deployed: Deployed) -> tuple[set[str], int]:
    """The names of declared and deployed consumers, and how many are deployed: servers keep those despite the limit."""
    names = {consumer.name for consumer in declared.consumers_of(stream)}
    current = deployed.stream(stream.name)
    deployed_names = {consumer.name for consumer in (current.consumers if current else ())}
    return names | deployed_names, len(deployed_names)
