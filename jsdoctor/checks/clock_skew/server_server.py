"""JSD102: the clocks of two servers of one cluster differ, which shifts expiry, duplicate windows and redelivery."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.checks.clock_skew.words import HOW_TO_MEASURE_BETTER, difference, doubt
from jsdoctor.checks.registry import check
from jsdoctor.model.clock import Clocks, ServerClock
from jsdoctor.model.finding import Finding, Severity, Subject, failed, passed, unknown
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.wording import compared, span

_SEE_ALL = "use a login of the system account, or add --monitor http://HOST:8222 for each server"
_STREAMS_NAMED = 3
_EFFECTS = {
    ("duplicate_window", "ahead"): "when it leads, it forgets ids too early and stores retries twice",
    ("duplicate_window", "behind"): "when it leads, it keeps ids too long and drops what reuses them",
    ("max_age", "ahead"): "it removes messages before their time",
    ("max_age", "behind"): "it keeps messages longer than they should be",
    ("ack_wait", "ahead"): "when it leads, it redelivers messages that are still worked on",
    ("ack_wait", "behind"): "when it leads, it redelivers later than it should",
}
"""What happens if the clock of a server is ahead of, or behind, that of the leader before it, by setting."""


@check("clock_skew.server_server")
def server_server(clocks: Clocks, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """Compare each server with the middle clock of its cluster: if most clocks agree, that is one of them."""
    clusters: dict[str, list[ServerClock]] = defaultdict(list)
    for clock in clocks.servers:
        clusters[clock.cluster].append(clock)
    # Servers without a cluster have no streams in common.
    for cluster in sorted(clusters.keys() - {""}):
        yield from _judge_cluster(sorted(clusters[cluster], key=lambda c: c.offset.middle_ns), snapshots, params)
    if not clocks.complete:
        yield from _unread(clusters, snapshots)


def _judge_cluster(
    members: Sequence[ServerClock], snapshots: SnapshotSeries | None, params: Params
) -> Iterator[Finding]:
    if len(members) == 1:
        return
    middle = members[(len(members) - 1) // 2]
    for clock in members:
        offset = clock.offset.against(middle.offset)
        if clock is middle:
            yield passed(clock.subject)
        elif offset.exceeds(params.integer("tolerance")):
            yield _finding(clock, middle, snapshots, params)
        elif offset.may_exceed(params.integer("tolerance")):
            yield unknown(clock.subject, doubt(offset, f"that of {middle.name}"), HOW_TO_MEASURE_BETTER)
        else:
            yield passed(clock.subject)


def _finding(clock: ServerClock, middle: ServerClock, snapshots: SnapshotSeries | None, params: Params) -> Finding:
    offset = clock.offset.against(middle.offset)
    size_ns = abs(offset.middle_ns)
    window = shortest_window(snapshots.last, clock.name) if snapshots else None
    severity = Severity.INFO
    if size_ns >= params.integer("warning") or (window and size_ns >= params.number("share") * window.length_ns):
        severity = Severity.WARNING
    if window and size_ns >= window.length_ns:
        severity = Severity.CRITICAL
    return failed(
        clock.subject,
        f"its clock is {difference(offset, f'that of {middle.name}')}{_effect(window, offset.middle_ns)}",
        *clock.observed,
        *middle.observed,
        severity=severity,
        measured=(offset.middle_ns, params.integer("tolerance"), "duration"),
        uncertainty=offset.bound_ns,
        remedy={"streams": _movable(snapshots, clock.name), "to": middle.name if _can_choose(clock, middle) else ""},
    )


def _can_choose(*clocks: ServerClock) -> bool:
    """Whether a leader that steps down accepts a preferred successor: the CLI refuses that before 2.11."""
    versions = [clock.version.split(".")[:2] for clock in clocks]
    return all(len(v) == 2 and all(map(str.isdigit, v)) and tuple(map(int, v)) >= (2, 11) for v in versions)


def _effect(window: CountedWindow | None, offset_ns: int) -> str:
    if window is None:
        return ""
    length = f"the {window.setting} of {span(window.length_ns)} of {window.subject.label}"
    effect = _EFFECTS[window.setting, "ahead" if offset_ns > 0 else "behind"]
    return f", {compared(abs(offset_ns), window.length_ns)} {length}: {effect}"


def _movable(snapshots: SnapshotSeries | None, server: str) -> list[str]:
    """Some streams that the server leads and that others could lead."""
    streams = snapshots.last.led_streams() if snapshots else ()
    led = [s.name for s in streams if s.cluster and s.cluster.leader == server and s.cluster.replicas]
    return led[:_STREAMS_NAMED]


def _unread(clusters: dict[str, list[ServerClock]], snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """`unknown` for known servers whose clock was not read, and for the only server of a cluster that reported one."""
    groups = [s.cluster for s in snapshots.last.streams if s.cluster] if snapshots else []
    known = {peer.name for group in groups for peer in group.replicas} | {group.leader for group in groups}
    seen = {clock.name for members in clusters.values() for clock in members}
    for name in sorted(known - seen - {""}):
        yield unknown(Subject(kind="server", name=name), "its clock could not be read with this login", _SEE_ALL)
    for cluster, members in sorted(clusters.items()):
        if cluster and len(members) == 1 and not known - seen - {""}:
            yield unknown(members[0].subject, f"no other server of cluster {cluster} reported its time", _SEE_ALL)


_ACKNOWLEDGED = ("explicit", "all")


class CountedWindow(msgspec.Struct, frozen=True):
    """A setting that is a length of time, which each server of the Raft group measures by its own clock."""

    length_ns: int
    setting: str
    subject: Subject


def shortest_window(snapshot: ClusterSnapshot, server: str) -> CountedWindow | None:
    """The shortest window of the streams and consumers that this server shares with others.

    Those on a single server are left out: only one clock measures them.
    """
    return min(_windows(snapshot, server), key=lambda window: window.length_ns, default=None)


def _windows(snapshot: ClusterSnapshot, server: str) -> Iterator[CountedWindow]:
    for stream in snapshot.led_streams():
        if _is_shared(stream.cluster, server):
            config = stream.config
            lengths = (("duplicate_window", config.duplicate_window_ns), ("max_age", config.max_age_ns))
            yield from (CountedWindow(ns, setting, stream.subject) for setting, ns in lengths if ns > 0)
    for _, consumer in snapshot.led_consumers():
        acknowledged = consumer.config.ack_policy in _ACKNOWLEDGED and consumer.config.ack_wait_ns > 0
        if acknowledged and _is_shared(consumer.cluster, server):
            yield CountedWindow(consumer.config.ack_wait_ns, "ack_wait", consumer.subject)


def _is_shared(cluster: Cluster | None, server: str) -> bool:
    if cluster is None or not cluster.replicas:
        return False
    return cluster.leader == server or any(peer.name == server for peer in cluster.replicas)
