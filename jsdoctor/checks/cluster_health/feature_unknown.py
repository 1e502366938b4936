"""JSD727: a stream or consumer on servers that are too old for what it is configured to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from jsdoctor.checks.cluster_health.required_level import goes_offline, level_of, level_of_version, required_level
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.server import ConnectedServer, Server, Servers
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import counted

_SHOWN = 3
Asset = Stream | Consumer


@check("cluster_health.feature_unknown")
def feature_unknown(
    snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None
) -> Iterator[Finding]:
    """Compare API levels: an older server ignores fields of a configuration that it does not know (encoding/json)."""
    by_name = {server.name: server for server in servers.servers} if servers else {}
    behind: dict[str, list[Asset]] = defaultdict(list)
    for asset in filter(required_level, snapshots.last.led_assets()):
        holder = by_name.get(asset.answered_by)
        if holder is not None:
            if (level_of(holder) or 0) >= required_level(asset):
                for name in _followers(asset):
                    level = level_of(by_name[name]) if name in by_name else None
                    if level is not None and level < required_level(asset):
                        behind[name].append(asset)
            yield _judged(asset, holder.version, level_of(holder))
        elif connected is not None and not by_name:
            yield _judged_by_connected_server(asset, connected)
    for name in sorted(behind):
        yield _follower_finding(by_name[name], behind[name])


def _followers(asset: Asset) -> Iterable[str]:
    return {peer.name for peer in asset.cluster.replicas} - {asset.answered_by} if asset.cluster else ()


def _judged(asset: Asset, version: str, level: int | None) -> Finding:
    if level is None:
        return unknown(asset.subject, f"the API level of version {version} is not known", "look with --monitor")
    if level >= required_level(asset) or goes_offline(version):  # offline is JSD702's
        return passed(asset.subject)
    return failed(
        asset.subject,
        f"it needs API level {required_level(asset)} and {asset.answered_by or 'its server'} of version {version}"
        f" has {level}: that server runs it without the settings that it does not know",
        asset.observed("config.metadata._nats.req.level", required_level(asset)),
        measured=(level, required_level(asset), "count"),
    )


def _judged_by_connected_server(asset: Asset, connected: ConnectedServer) -> Finding:
    """Judge by the version of the connected server, unless the leader's reply shows that the leader is newer."""
    level = level_of_version(connected.version)
    if level is None or level >= required_level(asset):
        return passed(asset.subject)  # what is offline is listed as such
    if shows_new_settings(asset):
        return unknown(
            asset.subject,
            f"the connected server of version {connected.version} is older than what it needs, its leader is not",
            "look with a login of the system account",
        )
    return _judged(asset, connected.version, level)


def shows_new_settings(asset: Asset) -> bool:
    """Whether the reply has a setting that 2.10 does not know: then a newer server sent it."""
    config = asset.config
    if isinstance(asset, Consumer):
        return bool(asset.config.priority_policy or asset.config.priority_groups or asset.config.pause_until)
    stream = asset.config
    return bool(
        "_nats.level" in config.metadata
        or stream.allow_msg_ttl
        or stream.subject_delete_marker_ttl_ns
        or stream.allow_msg_counter
        or stream.allow_msg_schedules
        or stream.allow_atomic
        or stream.allow_batched
        or stream.persist_mode
    )


def _follower_finding(server: Server, assets: list[Asset]) -> Finding:
    needed, level = max(map(required_level, assets)), level_of(server)
    names = ", ".join(asset.subject.label for asset in assets[:_SHOWN])
    more = f" and {counted(len(assets) - _SHOWN, 'other')}" if len(assets) > _SHOWN else ""
    return failed(
        server.subject,
        f"it has API level {level} (version {server.version}) and is a member of {names}{more}, which needs"
        f" {needed}: it does not run its copy, or runs it without the settings that it does not know",
        server.observed("api.level", level),
        severity=Severity.WARNING,
        measured=(level, needed, "count"),
    )
