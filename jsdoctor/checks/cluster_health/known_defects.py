"""JSD720: a server version with a known defect, in a deployment that uses what the defect is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, get_args

from jsdoctor.checks.registry import check
from jsdoctor.model.defect import Affected, Defect, Harm, KnownDefects
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Observation, Subject, failed, passed
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.release import release
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted, listed

_SHOWN = 3
"""Number of defects in the message, the worst first; all of them are in the evidence."""
_WORST_FIRST = get_args(Harm)


class _DefectUse(NamedTuple):
    """A defect of a version that runs in a domain, and the streams that use the feature with the defect."""

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
            if (affected := affected_by(defect, version)) and (used := _using_streams(defect, streams))
        ]
        subject = Subject(kind="cluster", name=domain) if domain else CLUSTER
        yield _finding(subject, hits) if hits else passed(subject)


def affected_by(defect: Defect, version: str) -> Affected | None:
    """The range of releases with the defect that this version is in."""
    known = release(version)
    return next((a for a in defect.affected if known and release(a.first) <= known <= release(a.last)), None)


def _using_streams(defect: Defect, streams: Sequence[Stream]) -> list[str]:
    condition = CONDITIONS.get(defect.uses)
    return sorted(stream.name for stream in streams if condition and condition(stream))


def _finding(subject: Subject, hits: Sequence[_DefectUse]) -> Finding:
    newest = max((hit.affected.fixed_in for hit in hits), key=release)
    worst, *others = sorted(hits, key=lambda hit: _WORST_FIRST.index(hit.defect.harm))
    count = len({hit.defect.id for hit in hits})
    return failed(
        subject,
        f"servers have {counted(count, 'known defect')} in what is used here, fixed in {newest}. "
        f"{'The worst, ' if others else ''}{worst.version} until {worst.affected.fixed_in}: {worst.defect.what}"
        f" ({listed(worst.used, _SHOWN)})",
        *(
            Observation(
                hit.version, hit.defect.id, f"{hit.defect.what}; fixed in {hit.affected.fixed_in}: {hit.defect.source}"
            )
            for hit in (worst, *others)
        ),
        confidence=Confidence.MEDIUM,
        measured=(count, 0, "count"),
    )


Condition = Callable[[Stream], bool]
"""Whether the defect can hit this stream, or a consumer of it."""


def _replicated(stream: Stream) -> bool:
    return stream.config.num_replicas > 1


def _on_file(stream: Stream) -> bool:
    return stream.config.storage == "file"


def _any_consumer(condition: Callable[[ConsumerConfig], bool]) -> Condition:
    """The condition that any consumer's configuration meets."""
    return lambda stream: any(condition(consumer.config) for consumer in stream.consumers)


def _both(first: Condition, second: Condition) -> Condition:
    return lambda stream: first(stream) and second(stream)


def _retains(*policies: str) -> Condition:
    return lambda stream: stream.config.retention in policies


def _limited(stream: Stream) -> bool:
    c = stream.config
    return any(limit > 0 for limit in (c.max_msgs, c.max_bytes, c.max_age_ns, c.max_msgs_per_subject))


_DEFAULT_INACTIVE_THRESHOLD_NS = 5_000_000_000
"""The inactive_threshold of an ephemeral consumer that sets none (server: consumer.go JsDeleteWaitTimeDefault)."""

_has_max_deliver = _any_consumer(lambda c: c.max_deliver > 0 and c.ack_policy not in ("none", ""))
_acks_all = _any_consumer(lambda c: c.ack_policy == "all")
_last_per_subject = _any_consumer(lambda c: c.deliver_policy == "last_per_subject")
_replicated_interest = _both(_replicated, _retains("interest"))


def _at_sign(stream: Stream) -> bool:
    names = (stream.name, *stream.config.subjects, *(consumer.name for consumer in stream.consumers))
    return any("@" in name for name in names)


_CLUSTERED: Condition = attrgetter("is_clustered")

CONDITIONS: Mapping[str, Condition] = {
    "ack_all": _acks_all,
    "ack_all_replicated_interest": _both(_replicated_interest, _acks_all),
    "at_sign": _at_sign,
    "atomic_batches": lambda s: s.config.allow_atomic,
    "atomic_counters_or_schedules": lambda s: (
        s.config.allow_atomic and not _replicated(s) and (s.config.allow_msg_counter or s.config.allow_msg_schedules)
    ),
    "clustered": _CLUSTERED,
    "clustered_inactive_threshold": _both(_CLUSTERED, _any_consumer(lambda c: c.inactive_threshold_ns > 0)),
    "clustered_limits": _both(_CLUSTERED, _limited),
    "clustered_push": _both(_CLUSTERED, _any_consumer(lambda c: c.is_push)),
    "compression": _both(_on_file, lambda s: s.config.compression not in ("", "none")),
    "counters": lambda s: s.config.allow_msg_counter,
    "dedupe": lambda s: s.config.duplicate_window_ns > 0,
    "direct_get": lambda s: s.config.allow_direct,
    "ephemeral_pull": _both(
        lambda s: not s.is_clustered,
        _any_consumer(
            lambda c: not c.is_push and not c.durable_name and c.inactive_threshold_ns == _DEFAULT_INACTIVE_THRESHOLD_NS
        ),
    ),
    "file_consumers": _both(_on_file, lambda s: bool(s.consumers)),
    "file_storage": _on_file,
    "files_from_start_time": _both(_on_file, _any_consumer(lambda c: c.deliver_policy == "by_start_time")),
    "files_limited_by_size": _both(_on_file, lambda s: s.config.max_msgs > 0 or s.config.max_bytes > 0),
    "filtered_consumers": _any_consumer(lambda c: bool(c.filters)),
    "interest": _retains("interest", "workqueue"),
    "interest_policy": _retains("interest"),
    "interest_with_max_deliver": _both(_retains("interest"), _has_max_deliver),
    "interest_with_rollup": _both(_retains("interest"), lambda s: s.config.allow_rollup_hdrs),
    "last_per_subject": _last_per_subject,
    "last_per_subject_in_memory": _both(_last_per_subject, lambda s: s.config.storage == "memory"),
    "limit_per_subject": lambda s: s.config.max_msgs_per_subject > 0,
    "limited_files": _both(_on_file, _limited),
    "max_ack_pending": lambda s: any(c.config.max_ack_pending > 0 and c.num_ack_pending > 0 for c in s.consumers),
    "max_deliver": _has_max_deliver,
    "memory_storage": lambda s: s.config.storage == "memory",
    "message_ttl": lambda s: s.config.allow_msg_ttl,
    "mirrors": lambda s: s.config.mirror is not None,
    "mqtt": lambda s: s.is_mqtt,
    "one_message_per_subject": _both(_on_file, lambda s: s.config.max_msgs_per_subject == 1),
    "paused_consumers": _any_consumer(lambda c: c.pause_until is not None),
    "percent_sign_in_name": lambda s: any("%" in consumer.name for consumer in s.consumers),
    "pinned_client": _any_consumer(lambda c: c.priority_policy == "pinned_client"),
    "priority_groups": _any_consumer(lambda c: c.priority_policy not in ("", "none")),
    "pull_with_inactive_threshold": _any_consumer(lambda c: not c.is_push and c.inactive_threshold_ns > 0),
    "rate_limit": _any_consumer(lambda c: c.rate_limit_bps > 0),
    "replicated_consumers": lambda s: _replicated(s) and bool(s.consumers),
    "replicated_dedupe": lambda s: _replicated(s) and s.config.duplicate_window_ns > 0,
    "replicated_files": _both(_replicated, _on_file),
    "replicated_flow_control": _both(_replicated, _any_consumer(lambda c: c.is_push and c.flow_control)),
    "replicated_interest": _replicated_interest,
    "replicated_last_per_subject": _both(_replicated, _last_per_subject),
    "replicated_sources": lambda s: _replicated(s) and bool(s.config.sources),
    "replicated_streams": _replicated,
    "replicated_work_queue_with_max_deliver": _both(_both(_replicated, _retains("workqueue")), _has_max_deliver),
    "schedules": lambda s: s.config.allow_msg_schedules,
    "several_filters": _any_consumer(lambda c: len(c.filters) > 1),
    "several_messages_per_subject": _both(_on_file, lambda s: s.config.max_msgs_per_subject > 1),
    "several_sources": lambda s: len(s.config.sources) > 1,
    "single_file_copies": _both(_both(_CLUSTERED, _on_file), lambda s: not _replicated(s)),
    "sources_over_leaf_node": lambda s: any(origin.external is not None for origin in s.config.origins),
    "sourcing_consumer": _any_consumer(lambda c: c.ack_policy == "flow_control"),
    "work_queue_files": _both(_on_file, _retains("workqueue")),
    "work_queue_with_filters_on_one_server": _both(
        lambda s: not s.is_clustered, _both(_retains("workqueue"), _any_consumer(lambda c: bool(c.filters)))
    ),
    "work_queue_with_sourcing_consumer": _both(
        _retains("workqueue"), _any_consumer(lambda c: c.ack_policy == "flow_control" and bool(c.filters))
    ),
}
