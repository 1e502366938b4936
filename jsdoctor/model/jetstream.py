"""JetStream's own records, field by field as the server's JSON names them (server: stream.go, consumer.go).

Keys that a server omits when zero have the zero as default. Keys that only newer servers send are None when absent.
Durations are nanoseconds, sizes bytes, times aware datetimes. Unknown keys are ignored.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.model.reported import sent
from jsdoctor.model.wording import span

_DOMAIN_API = re.compile(r"\$JS\.([^.]+)\.API")


class Peer(msgspec.Struct, frozen=True, gc=False):
    """One other member of a Raft group as the leader sees it. `active_ns` since last contact; 0 means never seen."""

    name: str = sent("")
    current: bool = sent(False)
    offline: bool = False
    active_ns: int = sent(0, name="active")
    lag: int = 0
    peer: str = ""


class Cluster(msgspec.Struct, frozen=True):
    """Placement of a stream or consumer. No `leader` key: it has none."""

    name: str = ""
    raft_group: str = ""
    leader: str = ""
    leader_since: datetime | None = None
    replicas: tuple[Peer, ...] = ()

    @property
    def shows_no_group(self) -> bool:
        """Whether a server of a cluster shows neither a Raft group nor members: it names itself as the leader then.

        It runs no Raft node for the asset (server: jetstream_cluster.go clusterInfo): one replica needs none.
        """
        return bool(self.name) and not self.raft_group and not self.replicas


class ExternalStream(msgspec.Struct, frozen=True, gc=False):
    """Where a mirror or source of another account or domain is reached."""

    api: str = sent("")
    deliver: str = sent("")

    @property
    def domain(self) -> str:
        """The JetStream domain of the same account that it leads to; empty for the prefix of another account."""
        match = _DOMAIN_API.fullmatch(self.api)
        return match.group(1) if match else ""


class SubjectTransform(msgspec.Struct, frozen=True, gc=False):
    """A rewriting of subjects before messages are stored."""

    src: str = sent("")
    dest: str = sent("")


class SourceConfig(msgspec.Struct, frozen=True):
    """A mirror or source as configured."""

    name: str = sent("")
    opt_start_seq: int = 0
    filter_subject: str = ""
    external: ExternalStream | None = None
    opt_start_time: datetime | None = None
    subject_transforms: tuple[SubjectTransform, ...] = ()

    @property
    def identity(self) -> tuple[object, ...]:
        """What a stream can have only one source of (server: stream.go composeIName)."""
        transforms = tuple((transform.src, transform.dest) for transform in self.subject_transforms)
        return (self.name, self.external.api if self.external else "", self.filter_subject, transforms)

    @property
    def takes_all(self) -> bool:
        """Whether it copies every message of its origin, from the first one on."""
        narrowed = self.filter_subject or self.subject_transforms or self.opt_start_seq > 1 or self.opt_start_time
        return not narrowed


class Placement(msgspec.Struct, frozen=True):
    """Where a stream shall be placed."""

    cluster: str = ""
    tags: tuple[str, ...] = ()
    preferred: str = ""


class Republish(msgspec.Struct, frozen=True, gc=False):
    """Stored messages that are also published under another subject."""

    src: str = ""
    dest: str = sent("")
    headers_only: bool = False


class ConsumerLimits(msgspec.Struct, frozen=True, gc=False):
    """The maximum that a stream allows for its consumers, which is also the default for consumers that set none."""

    inactive_threshold_ns: int = msgspec.field(name="inactive_threshold", default=0)
    max_ack_pending: int = 0


class StreamConfig(msgspec.Struct, frozen=True):
    """Stream configuration. Limits of 0 or -1 mean none; `duplicate_window_ns` 0 means deduplication is off."""

    name: str = ""
    subjects: tuple[str, ...] = ()
    retention: str = sent("limits")
    max_consumers: int = sent(-1)
    max_msgs: int = sent(-1)
    max_bytes: int = sent(-1)
    max_age_ns: int = sent(0, name="max_age")
    max_msgs_per_subject: int = sent(-1)
    max_msg_size: int = -1
    discard: str = sent("old")
    discard_new_per_subject: bool = False
    storage: str = sent("file")
    num_replicas: int = sent(1)
    no_ack: bool = False
    duplicate_window_ns: int = msgspec.field(name="duplicate_window", default=0)
    mirror: SourceConfig | None = None
    sources: tuple[SourceConfig, ...] = ()
    sealed: bool = sent(False)
    allow_direct: bool = sent(False)
    allow_msg_ttl: bool = False
    allow_msg_schedules: bool = False
    deny_delete: bool = sent(False)
    deny_purge: bool = sent(False)
    allow_rollup_hdrs: bool = sent(False)
    metadata: dict[str, str] = {}
    subject_transform: SubjectTransform | None = None
    consumer_limits: ConsumerLimits = sent(ConsumerLimits())
    description: str = ""
    mirror_direct: bool = sent(False)
    subject_delete_marker_ttl_ns: int = msgspec.field(name="subject_delete_marker_ttl", default=0)
    allow_msg_counter: bool = False
    allow_atomic: bool = False
    allow_batched: bool = False
    persist_mode: str = ""
    compression: str = "none"
    first_seq: int = 0
    placement: Placement | None = None
    republish: Republish | None = None

    @property
    def origins(self) -> tuple[SourceConfig, ...]:
        """What it copies: the stream that it mirrors, or its sources. A server accepts one of the two."""
        return (self.mirror,) if self.mirror else self.sources


class LostMessages(msgspec.Struct, frozen=True):
    """Messages whose storage was found damaged."""

    msgs: tuple[int, ...] | None = None
    bytes: int = 0


class StreamState(msgspec.Struct, frozen=True):
    """What a stream holds. An empty stream has `first_seq == last_seq + 1` and zero times."""

    messages: int = sent(0)
    bytes: int = sent(0)
    first_seq: int = sent(0)
    first_ts: datetime | None = sent(None)
    last_seq: int = sent(0)
    last_ts: datetime | None = sent(None)
    num_subjects: int = 0
    num_deleted: int = 0
    consumer_count: int = sent(0)
    lost: LostMessages | None = None


class SourceInfo(msgspec.Struct, frozen=True):
    """State of a mirror or source. `active_ns` is the time since it last received anything; -1 means never."""

    name: str = sent("")
    lag: int = sent(0)
    active_ns: int = sent(0, name="active")
    error: Any = None


class ConsumerConfig(msgspec.Struct, frozen=True):
    """Consumer configuration. With a `backoff`, the server stores its first step as `ack_wait_ns`."""

    name: str = ""
    durable_name: str = ""
    description: str = ""
    deliver_policy: str = sent("all")
    opt_start_seq: int = 0
    opt_start_time: datetime | None = None
    ack_policy: str = sent("explicit")
    ack_wait_ns: int = msgspec.field(name="ack_wait", default=0)
    max_deliver: int = -1
    backoff_ns: tuple[int, ...] = msgspec.field(name="backoff", default=())
    filter_subject: str = ""
    filter_subjects: tuple[str, ...] = ()
    replay_policy: str = sent("instant")
    max_waiting: int = 0
    max_ack_pending: int = 0
    flow_control: bool = False
    idle_heartbeat_ns: int = msgspec.field(name="idle_heartbeat", default=0)
    headers_only: bool = False
    deliver_subject: str = ""
    deliver_group: str = ""
    inactive_threshold_ns: int = msgspec.field(name="inactive_threshold", default=0)
    num_replicas: int = sent(0)
    mem_storage: bool = False
    pause_until: datetime | None = None
    priority_policy: str = ""
    metadata: dict[str, str] = {}
    priority_groups: tuple[str, ...] = ()
    rate_limit_bps: int = 0
    sample_freq: str = ""
    direct: bool = False
    max_batch: int = 0
    max_expires_ns: int = msgspec.field(name="max_expires", default=0)
    max_bytes: int = 0
    priority_timeout_ns: int = msgspec.field(name="priority_timeout", default=0)

    def replicas_on(self, stream: StreamConfig) -> int:
        """How many replicas the consumer has on a stream (server: consumer.go replicas)."""
        if not self.num_replicas and not self.durable_name and stream.retention == "limits":
            return 1
        return min(self.num_replicas or stream.num_replicas, stream.num_replicas)

    @property
    def is_push(self) -> bool:
        """Push consumers have a deliver subject; the other consumers deliver only on pull requests."""
        return bool(self.deliver_subject)

    @property
    def filters(self) -> tuple[str, ...]:
        """All filters; empty means every subject of the stream."""
        return self.filter_subjects or ((self.filter_subject,) if self.filter_subject else ())


class PriorityGroup(msgspec.Struct, frozen=True, gc=False):
    """State of one priority group. `pinned_client_id` is the client that gets its messages; empty: nobody is pinned."""

    group: str = sent("")
    pinned_client_id: str = ""


class SequencePair(msgspec.Struct, frozen=True, gc=False):
    """A place in a consumer's own numbering and in its stream's. `last_active` is lost on restart: None is unknown."""

    consumer_seq: int = sent(0)
    stream_seq: int = sent(0)
    last_active: datetime | None = None


_DURATIONS = frozenset(
    field.encode_name
    for struct in (StreamConfig, ConsumerConfig, ConsumerLimits)
    for field in msgspec.structs.fields(struct)
    if field.name.endswith("_ns")
)


def setting_text(key: str, value: object) -> str:
    """A value of a configuration for people: JSON, but durations as they are said (`30s`)."""
    if value is None:
        return "(not set)"
    if key in _DURATIONS and isinstance(value, list | tuple):
        return f"[{', '.join(setting_text(key, item) for item in value)}]"
    if key in _DURATIONS and isinstance(value, int):
        return span(value)
    return msgspec.json.encode(value).decode()
