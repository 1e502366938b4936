"""JSD608: thresholds that operators wrote into the stream's own metadata (`io.nats.monitor.*`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from jsdoctor.checks.monitor_metadata import PREFIX, Presets, Thresholds, ValueKind, read_thresholds
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import span


@check("stream_limits.metadata_threshold")
def metadata_threshold(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Compare streams with their own thresholds, as `nats server check stream` does (jsm.go monitor/stream.go).

    One finding per stream: the worst breach leads, the others follow in its message.
    """
    presets = Presets.of(params, KEYS)
    for stream in snapshots.last.led_streams():
        thresholds = read_thresholds(stream.config.metadata, KEYS, presets)
        if thresholds is None:
            continue
        worst_first = sorted(breaches(stream, thresholds), key=lambda breach: -breach.severity.rank)
        if not worst_first:
            yield passed(stream.subject)
            continue
        worst = worst_first[0]
        yield failed(
            stream.subject,
            "; ".join(breach.text for breach in worst_first),
            *(stream.observed(breach.path, breach.value) for breach in worst_first),
            severity=None if worst.severity is Severity.CRITICAL else worst.severity,
            measured=worst.measured,
        )


KEYS = {
    "lag-critical": ValueKind.COUNT,
    "seen-critical": ValueKind.DURATION,
    "min-sources": ValueKind.COUNT,
    "max-sources": ValueKind.COUNT,
    "peer-expect": ValueKind.COUNT,
    "peer-lag-critical": ValueKind.COUNT,
    "peer-seen-critical": ValueKind.DURATION,
    "msgs-warn": ValueKind.COUNT,
    "msgs-critical": ValueKind.COUNT,
    "subjects-warn": ValueKind.COUNT,
    "subjects-critical": ValueKind.COUNT,
}
"""Every key for streams of the `nats` CLI. An unset key has no default: without peer-expect peers are not counted."""


class Breach(msgspec.Struct, frozen=True):
    """A threshold that is passed: the text, the field and its value, the severity, and value, threshold and unit."""

    text: str
    path: str
    value: Any
    severity: Severity = Severity.CRITICAL
    measured: tuple[int | None, int | None, str | None] = (None, None, None)


def breaches(stream: Stream, thresholds: Thresholds) -> Iterator[Breach]:
    """Every threshold of the stream that is passed or cannot be read."""
    for key, shape in thresholds.unreadable.items():
        value = stream.config.metadata.get(PREFIX + key, "")
        text = f"the metadata key {PREFIX}{key} is {value!r} and must be {shape}: nothing is watched by it"
        yield Breach(text, f"config.metadata.{PREFIX}{key}", value, Severity.WARNING)
    yield from _peers(stream, thresholds)
    yield from _messages(stream, thresholds)
    yield from _subjects(stream, thresholds)
    yield from _origins(stream, thresholds)


def _peers(stream: Stream, thresholds: Thresholds) -> Iterator[Breach]:
    peers = stream.cluster.replicas if stream.cluster else ()
    if expected := thresholds.counts.get("peer-expect"):
        members = 1 + len(peers)
        if members != expected:
            text = f"the stream has R{members}, peer-expect is {expected}"
            yield Breach(text, "cluster.replicas", members, measured=(members, expected, "count"))
    lag, seen_ns = thresholds.counts.get("peer-lag-critical"), thresholds.durations_ns.get("peer-seen-critical")
    for peer in peers:
        if lag and peer.lag > lag:
            text = f"replica {peer.name} is {peer.lag:,} operations behind, peer-lag-critical is {lag:,}"
            yield Breach(text, "cluster.replicas.lag", peer.lag, measured=(peer.lag, lag, "count"))
        if seen_ns and peer.active_ns > seen_ns:
            text = (
                f"replica {peer.name} was last seen {span(peer.active_ns)} ago, peer-seen-critical is {span(seen_ns)}"
            )
            measured = peer.active_ns, seen_ns, "duration"
            yield Breach(text, "cluster.replicas.active", peer.active_ns, measured=measured)


def _messages(stream: Stream, thresholds: Thresholds) -> Iterator[Breach]:
    held = stream.state.messages
    for key, severity in (("msgs-critical", Severity.CRITICAL), ("msgs-warn", Severity.WARNING)):
        if (least := thresholds.counts.get(key)) and held <= least:
            text = f"{held:,} messages are stored, {key} requests more than {least:,}"
            yield Breach(text, "state.messages", held, severity, (held, least, "count"))
            return


def _subjects(stream: Stream, thresholds: Thresholds) -> Iterator[Breach]:
    """Compare the number of subjects. Critical above warning, or alone, makes ceilings; else both are floors."""
    held, ceiling = stream.state.num_subjects, _is_ceiling(thresholds)
    for key, severity in (("subjects-critical", Severity.CRITICAL), ("subjects-warn", Severity.WARNING)):
        limit = thresholds.counts.get(key)
        if limit and (held >= limit if ceiling else held <= limit):
            text = f"{'' if ceiling else 'only '}{held:,} subjects are stored, {key} is {limit:,}"
            yield Breach(text, "state.num_subjects", held, severity, (held, limit, "count"))
            return


def _is_ceiling(thresholds: Thresholds) -> bool:
    return thresholds.counts.get("subjects-warn", 0) < thresholds.counts.get("subjects-critical", 0)


def most_subjects(stream: Stream) -> int | None:
    """The number of subjects from which the stream's own metadata wants to be warned; None where it names none."""
    thresholds = read_thresholds(
        stream.config.metadata, {key: KEYS[key] for key in ("subjects-warn", "subjects-critical")}
    )
    if thresholds is None or not _is_ceiling(thresholds):
        return None
    return thresholds.counts.get("subjects-warn") or thresholds.counts["subjects-critical"]


def _origins(stream: Stream, thresholds: Thresholds) -> Iterator[Breach]:
    """Compare mirrors and sources. Thresholds from parameters do not count for streams without origins."""
    sources, least, most = (
        len(stream.sources),
        thresholds.counts.get("min-sources"),
        thresholds.counts.get("max-sources"),
    )
    if not sources and "min-sources" not in thresholds.own:
        least = None
    if (least and sources < least) or (most and sources > most):
        key, limit = ("min-sources", least) if least and sources < least else ("max-sources", most)
        text = f"{sources} sources where {key} is {limit}"
        yield Breach(text, "sources", sources, measured=(sources, limit, "count"))
    lag, seen_ns = thresholds.counts.get("lag-critical"), thresholds.durations_ns.get("seen-critical")
    origins = stream.sources or ((stream.mirror,) if stream.mirror else ())
    if not origins and thresholds.own & {"lag-critical", "seen-critical"}:
        text = "lag-critical or seen-critical is set and the stream is neither a mirror nor has sources"
        yield Breach(text, "config.mirror", None, Severity.WARNING)
    for origin in origins:
        if lag and origin.lag >= lag:
            text = f"{origin.name} is {origin.lag:,} messages ahead, lag-critical is {lag:,}"
            yield Breach(text, "lag", origin.lag, measured=(origin.lag, lag, "count"))
        if seen_ns and origin.active_ns < 0:
            yield Breach(f"{origin.name} was never seen, seen-critical is {span(seen_ns)}", "active", origin.active_ns)
        elif seen_ns and origin.active_ns >= seen_ns:
            text = f"{origin.name} was last seen {span(origin.active_ns)} ago, seen-critical is {span(seen_ns)}"
            yield Breach(text, "active", origin.active_ns, measured=(origin.active_ns, seen_ns, "duration"))
