"""The reasons of a server's own health check, and which of them are temporary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from jsdoctor.model.partial import shown_or
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import HealthError, Server
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream

NOT_ENABLED = "JetStream not enabled"
"""The server has a jetstream block in its configuration, and JetStream is off (server: monitor.go healthz)."""

_ASSET_TYPES = ("STREAM", "CONSUMER")
_PERMANENT = ("write error", "assignment error")
"""Marks of reasons that stay until an operator acts (server: jetstream_cluster.go isStreamHealthy)."""

_SHOWN = 3


def started_at(server: Server) -> datetime | None:
    """When the server started; None if its variables were not read, or do not show it."""
    return shown_or(lambda: server.varz.start if server.varz else None, None)


def uptime_ns(server: Server) -> int | None:
    """Time since the server started when its variables were requested, in ns; None if they were not read."""
    if server.varz is None or server.varz.start is None:
        return None
    return int(((server.varz.now or server.at) - server.varz.start).total_seconds() * 1e9)


def lasting_reasons(server: Server, earlier: Sequence[Sequence[Server]]) -> tuple[HealthError, ...]:
    """The reasons of the newest sample, without streams and consumers that are not in those of each earlier sample.

    An asset that was just created is not current for a moment, and one that is just deleted is not found.
    """
    kept = reasons(server)
    for sample in earlier:
        before = next((s for s in sample if s.server_id == server.server_id and s.health is not None), None)
        if before is None:
            continue
        known = {_asset(error) for error in reasons(before)}
        kept = tuple(error for error in kept if not only_lagging_assets((error,)) or _asset(error) in known)
    return kept


def settled_reasons(
    server: Server, errors: Sequence[HealthError], series: SnapshotSeries | None, groups: RaftGroups | None, settle: int
) -> tuple[HealthError, ...]:
    """The reasons, without streams and consumers that changed less than `settle` ns before or during the samples.

    A change is a creation, an election, or a Raft log that begins on this server: a stream that is scaled from one
    replica gets a new group, whose members apply nothing for 10 seconds on 2.15 while their leader calls them current.
    """
    if series is None:
        return tuple(errors)
    samples = [{stream.key: stream for stream in snapshot.streams} for snapshot in series.snapshots]
    within = timedelta(microseconds=settle / 1000)
    young = _young_logs(server, groups, settle)
    return tuple(
        e for e in errors if not (e.stream and only_lagging_assets((e,)) and _is_changing(e, samples, young, within))
    )


def _is_changing(
    error: HealthError, samples: Sequence[Mapping[tuple[str, str], Stream]], young: frozenset[str], within: timedelta
) -> bool:
    """Whether the asset of an error was created, elected a leader or began its log lately, or was deleted.

    Samples may have different assets of one name: their time of creation distinguishes them.
    """
    result = [_found(error, sample) for sample in samples]
    if len({asset.created if asset else None for asset in result}) > 1:
        return True
    last = result[-1]
    if last is None:
        # Deleted between the two requests of a sample, or not listed: only a second sample shows whether it lasts.
        # Where streams of its account come and go between the samples, it may be one of them that was met twice.
        return len(samples) == 1 or _identities(samples[0], error.account) != _identities(samples[-1], error.account)
    elected, group = (last.cluster.leader_since, last.cluster.raft_group) if last.cluster else (None, None)
    changes = [change for change in (last.created, elected) if change is not None]
    return group in young or any(last.at - change < within for change in changes)


def _identities(sample: Mapping[tuple[str, str], Stream], account: str) -> set[tuple[str, datetime | None]]:
    return {(stream.name, stream.created) for (owner, _), stream in sample.items() if owner == account}


def _young_logs(server: Server, groups: RaftGroups | None, within_ns: int) -> frozenset[str]:
    """The Raft groups whose log on this server is younger than `within_ns`, by its own clock.

    An empty log is young if no member of the group has an older entry.
    """
    members = groups.last if groups else ()
    seen = Counter(member.group for member in members)
    old = {member.group for member in members if member.state.wal.messages and not member.has_young_log(within_ns)}
    return frozenset(
        member.group
        for member in members
        if member.server == server.name
        and (
            member.has_young_log(within_ns)
            or (member.has_empty_log and seen[member.group] > 1 and member.group not in old)
        )
    )


def _found(error: HealthError, sample: Mapping[tuple[str, str], Stream]) -> Stream | Consumer | None:
    stream = sample.get((error.account, error.stream))
    if stream is None or not error.consumer:
        return stream
    return next((consumer for consumer in stream.consumers if consumer.name == error.consumer), None)


def _asset(error: HealthError) -> tuple[str, ...]:
    named = (error.account, error.stream, error.consumer)
    return (error.type, *named) if any(named) else (error.type, error.error)


def is_jetstream_off(server: Server) -> bool:
    """Whether JetStream is configured and off. A server without a jetstream block passes its health check."""
    return server.health is not None and any(NOT_ENABLED in error.error for error in reasons(server))


def reasons(server: Server) -> tuple[HealthError, ...]:
    """Every reason that the health check gave; older servers give one text instead of a list."""
    health = server.health
    if health is None:
        return ()
    return health.errors or ((HealthError(error=health.error),) if health.error else ())


def only_lagging_assets(errors: Iterable[HealthError]) -> bool:
    """Whether the only errors are streams or consumers that are not current, which resolves itself after a start."""
    return all(e.type in _ASSET_TYPES and not is_permanent(e) for e in errors)


def is_permanent(error: HealthError) -> bool:
    """Whether the reason stays until an operator acts, so that it is no part of a start."""
    return any(mark in error.error for mark in _PERMANENT)


def summary(errors: tuple[HealthError, ...]) -> str:
    """The reasons by type with the first few texts."""
    kinds = ", ".join(f"{count:,} {kind or 'other'}" for kind, count in Counter(e.type for e in errors).items())
    texts = "; ".join(dict.fromkeys(error.error for error in errors[:_SHOWN]))
    more = f"; and {len(errors) - _SHOWN:,} more" if len(errors) > _SHOWN else ""
    return f"{kinds}: {texts}{more}"
