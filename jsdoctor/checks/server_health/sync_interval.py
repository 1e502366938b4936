"""JSD813: acknowledged messages that a power cut can delete, as no other server has a copy.

From manifests: files that will be flushed more seldom than by default.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jsdoctor.checks.declared.doubts import jetstream_unclear, unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed, unknown
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import JetStreamConfig, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted, span

_SAFE_REPLICAS = 3
"""Fewest replicas that survive a power cut of one host: a majority has the message in memory."""
_SHOWN = 3


class _Member(NamedTuple):
    """A server of a cluster with the settings of its JetStream."""

    server: Server
    config: JetStreamConfig

    @property
    def interval_ns(self) -> int:
        return self.config.sync_interval_ns

    @property
    def flushes_late(self) -> bool:
        return not self.config.sync_always and self.interval_ns > 0 and self.config.max_storage > 0


@check("server_health.sync_interval")
def sync_interval(servers: Servers, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """Judge flush intervals: a publish is acknowledged when written, and flushed later (filestore.go syncBlocks).

    The end of the process loses nothing, as the operating system has what was written; a power cut does.
    """
    by_cluster: dict[str, list[_Member]] = defaultdict(list)
    for server in servers.servers:
        stats = server.jetstream
        if stats and stats.config and not stats.disabled:
            by_cluster[server.cluster or f"server {server.name}"].append(_Member(server, stats.config))
    for name, members in by_cluster.items():
        subject = CLUSTER if len(by_cluster) == 1 else Subject(kind="cluster", name=name)
        if name.startswith("server "):
            subject = members[0].server.subject
        late_flushing = [member for member in members if member.flushes_late]
        if not late_flushing:
            yield passed(subject)
            continue
        slow = [member for member in late_flushing if member.interval_ns > params.integer("warn_interval")]
        if slow:
            yield _long_interval_finding(subject, slow, params.integer("warn_interval"))
        elif snapshots is None:
            yield unknown(subject, "no stream was seen", "use a login of the system account")
        elif streams := _unprotected_streams(
            snapshots, {member.server.name for member in late_flushing}, params.integer("min_messages")
        ):
            yield _unprotected_finding(subject, late_flushing, streams)
        else:
            yield passed(subject)


def _unprotected_streams(snapshots: SnapshotSeries, servers: set[str], least: int) -> list[Stream]:
    """File streams of these servers with fewer than three copies that hold messages, and do not copy from elsewhere."""
    return [
        stream
        for stream in snapshots.last.led_streams()
        if stream.config.storage == "file"
        and stream.config.num_replicas < _SAFE_REPLICAS
        and stream.answered_by in servers
        and stream.state.messages >= least
        and not stream.config.mirror
    ]


def _unprotected_finding(subject: Subject, late_flushing: Sequence[_Member], streams: Sequence[Stream]) -> Finding:
    longest, config = max(late_flushing, key=lambda member: member.interval_ns)
    return failed(
        subject,
        f"{counted(len(streams), 'file stream')} with fewer than three replicas: if a host loses power or its"
        f" kernel crashes, acknowledged messages of up to the last {span(config.sync_interval_ns)} (sync_interval) can"
        " be gone. The end of the server process alone loses nothing",
        longest.observed("config.sync_interval", config.sync_interval_ns),
        longest.observed("config.sync_always", False),
        *(s.observed("config.num_replicas", s.config.num_replicas) for s in streams[:_SHOWN]),
        measured=(config.sync_interval_ns, None, "duration"),
    )


def _long_interval_finding(subject: Subject, slow: Sequence[_Member], limit_ns: int) -> Finding:
    longest = max(member.interval_ns for member in slow)
    names = ", ".join(sorted(member.server.name for member in slow))
    return failed(
        subject,
        f"{names}: files are flushed every {span(longest)} (sync_interval), longer than the"
        f" server's default of {span(limit_ns)}: a power cut can take back the acknowledged messages of that time,"
        " of all streams if it hits several hosts at once",
        *(member.server.observed("config.sync_interval", member.interval_ns) for member in slow),
        measured=(longest, limit_ns, "duration"),
    )


@check("server_health.sync_interval_declared", also_mounted=True)
def sync_interval_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """A publish is acknowledged when its file is written, which is flushed later (server: filestore.go syncBlocks)."""
    longest = params.integer("warn_interval")
    for servers in manifests.servers:
        if unsure := jetstream_unclear(servers):
            yield unsure
        if servers.get("jetstream") is not True:
            continue
        interval = servers.get("sync_interval", 0)
        if servers.get("sync_always"):
            yield passed(servers.subject)
        elif unsure := unclear(servers, "sync_interval"):
            yield unsure
        elif interval <= longest:
            yield passed(servers.subject)
        else:
            number = servers.get("sync_interval_in_seconds")
            unquoted = f"; written without quotes it is a number of seconds, {number:,}" if number else ""
            yield failed(
                servers.subject,
                f"files will be flushed every {span(interval)} (sync_interval), later than the server's default"
                f" of {span(longest)}: a power cut can take back the acknowledged messages of that time{unquoted}",
                servers.shows("sync_interval", f"sync_interval: {span(interval)}"),
                severity=Severity.WARNING if unquoted else Severity.INFO,
                measured=(interval, longest, "duration"),
            )
