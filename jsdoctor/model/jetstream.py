"""JetStream's own records, field by field as the server's JSON names them (server: stream.go, consumer.go).

Keys that a server omits when zero have the zero as default. Keys that only newer servers send are None when absent.
Durations are nanoseconds, sizes bytes, times aware datetimes. Unknown keys are ignored.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

import msgspec

from jsdoctor.model.reported import sent
from jsdoctor.model.setting import OLDEST, Alias, Setting, unread, without_unit
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


class ChangeStatus(msgspec.Struct, frozen=True):
    """What the leader does or waits for to move or scale, `type` in one word; `err` is a fault that persists."""

    description: str = ""
    type: str = ""
    err: str = ""


class DesiredPlacement(msgspec.Struct, frozen=True):
    """Where a stream or consumer shall be that is moved or scaled (server: stream.go DesiredClusterInfo, 2.15)."""

    created: datetime | None = None
    replicas: tuple[Peer, ...] = ()
    status: ChangeStatus = ChangeStatus()


class Cluster(msgspec.Struct, frozen=True):
    """Placement of a stream or consumer. No `leader` key: it has none."""

    name: str = ""
    raft_group: str = ""
    leader: str = ""
    leader_since: datetime | None = None
    replicas: tuple[Peer, ...] = ()
    desired: DesiredPlacement | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The servers that hold it, the leader first if it has one; by peer id where no name is shown."""
        return tuple(filter(None, (self.leader, *(peer.name or peer.peer for peer in self.replicas))))

    @property
    def shows_no_group(self) -> bool:
        """Whether a server of a cluster shows neither a Raft group nor members: it names itself as the leader then.

        It runs no Raft node for the asset (server: jetstream_cluster.go clusterInfo): one replica needs none.
        """
        return bool(self.name) and not self.raft_group and not self.replicas


class ExternalStream(msgspec.Struct, frozen=True, gc=False):
    """Where a mirror or source of another account or domain is reached."""

    api: Annotated[str, Setting("externalApiPrefix")] = sent("")
    deliver: Annotated[str, Setting("externalDeliverPrefix")] = sent("")

    @property
    def domain(self) -> str:
        """The JetStream domain of the same account that it leads to; empty for the prefix of another account."""
        match = _DOMAIN_API.fullmatch(self.api)
        return match.group(1) if match else ""


class SubjectTransform(msgspec.Struct, frozen=True, gc=False):
    """A rewriting of subjects before messages are stored."""

    src: Annotated[str, Setting("source")] = sent("")
    dest: Annotated[str, Setting("dest")] = sent("")


class SourceConfig(msgspec.Struct, frozen=True):
    """A mirror or source as configured."""

    name: Annotated[str, Setting("name")] = sent("")
    opt_start_seq: Annotated[int, Setting("optStartSeq", signed=False)] = 0
    filter_subject: Annotated[str, Setting("filterSubject")] = ""
    external: Annotated[ExternalStream | None, Setting("*")] = None
    opt_start_time: Annotated[datetime | None, Setting("optStartTime")] = None
    subject_transforms: Annotated[tuple[SubjectTransform, ...], Setting("subjectTransforms")] = ()

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

    cluster: Annotated[str, Setting("", "placement_cluster")] = ""
    tags: Annotated[tuple[str, ...], Setting("", "placement_tags")] = ()
    preferred: Annotated[str, Setting("", "placement_preferred")] = ""


class Republish(msgspec.Struct, frozen=True, gc=False):
    """Stored messages that are also published under another subject."""

    src: Annotated[str, Setting("", "republish_source")] = ""
    dest: Annotated[str, Setting("", "republish_destination")] = sent("")
    headers_only: Annotated[bool, Setting("", "republish_headers_only")] = False


class ConsumerLimits(msgspec.Struct, frozen=True, gc=False, rename=without_unit):
    """The maximum that a stream allows for its consumers, which is also the default for consumers that set none."""

    inactive_threshold_ns: Annotated[
        int, Setting("inactiveThreshold", Alias("inactive_threshold", least=-(1 << 63)))
    ] = 0
    max_ack_pending: Annotated[int, Setting("maxAckPending", "max_ack_pending")] = 0


class StreamConfig(msgspec.Struct, frozen=True, rename=without_unit):
    """Stream configuration. Limits of 0 or -1 mean none; `duplicate_window_ns` 0 means deduplication is off."""

    name: Annotated[str, Setting("name", "name")] = ""
    subjects: Annotated[tuple[str, ...], Setting("subjects", "subjects", "subjects")] = ()
    retention: Annotated[
        str, Setting("retention", "retention", "retention", choices=("limits", "interest", "workqueue"))
    ] = sent("limits")
    max_consumers: Annotated[
        int, Setting(Alias("maxConsumers", -1), Alias("max_consumers", -1), "maximum consumers", limit=-1)
    ] = sent(-1)
    max_msgs: Annotated[
        int, Setting(Alias("maxMsgs", -1), Alias("max_msgs", -1), "maximum messages", "--max-msgs", limit=-1)
    ] = sent(-1)
    max_bytes: Annotated[
        int, Setting(Alias("maxBytes", -1), Alias("max_bytes", -1), "maximum bytes", "--max-bytes", limit=-1)
    ] = sent(-1)
    max_age_ns: Annotated[int, Setting("maxAge", "max_age", "maximum age", "--max-age", limit=0)] = sent(0)
    max_msgs_per_subject: Annotated[
        int, Setting("maxMsgsPerSubject", Alias("max_msgs_per_subject", -1), "maximum per subject", limit=-1)
    ] = sent(-1)
    max_msg_size: Annotated[
        int,
        Setting(
            *(Alias("maxMsgSize", -1), Alias("max_msg_size", -1), "maximum message size", "--max-msg-size"),
            bits=32,
            limit=-1,
        ),
    ] = -1
    discard: Annotated[str, Setting("discard", "discard", "discard policy", "--discard", choices=("old", "new"))] = (
        sent("old")
    )
    discard_new_per_subject: Annotated[
        bool,
        Setting(
            "discardPerSubject", "discard_new_per_subject", flag=("--discard-per-subject", "--no-discard-per-subject")
        ),
    ] = False
    storage: Annotated[str, Setting("storage", "storage", "storage", choices=("file", "memory"))] = sent("file")
    num_replicas: Annotated[int, Setting(Alias("replicas", 1), Alias("replicas", 0, 5), "replicas", "--replicas")] = (
        sent(1)
    )
    no_ack: Annotated[
        bool,
        Setting(
            "noAck", "!ack", ("no acknowledgements", "!acknowledgments", "!acknowledgements"), ("--no-ack", "--ack")
        ),
    ] = False
    duplicate_window_ns: Annotated[
        int, Setting("duplicateWindow", "duplicate_window", "duplicate window", "--dupe-window")
    ] = 0
    mirror: Annotated[SourceConfig | None, Setting("mirror", "", "mirror?")] = None
    sources: Annotated[tuple[SourceConfig, ...], Setting("sources", "", "source?")] = ()
    sealed: Annotated[bool, Setting("sealed", "", "sealed?", lasting=True)] = sent(False)
    allow_direct: Annotated[bool, Setting("allowDirect", "allow_direct", "direct get")] = sent(False)
    allow_msg_ttl: Annotated[
        bool, Setting("allowMsgTtl", "allow_msg_ttl", "allows per-message ttl", since=(2, 11), lasting=True)
    ] = False
    allow_msg_schedules: Annotated[
        bool, Setting(unread("allowMsgSchedules"), "allow_msg_schedules", since=(2, 12), lasting=True)
    ] = False
    deny_delete: Annotated[bool, Setting("denyDelete", "deny_delete", "!allows msg delete", lasting=True)] = sent(False)
    deny_purge: Annotated[bool, Setting("denyPurge", "deny_purge", "!allows purge", lasting=True)] = sent(False)
    allow_rollup_hdrs: Annotated[bool, Setting("allowRollup", "allow_rollup_hdrs", "allows rollups")] = sent(False)
    metadata: Annotated[dict[str, str], Setting("metadata", "metadata", "metadata?")] = {}
    subject_transform: Annotated[SubjectTransform | None, Setting("subjectTransform", "", "subject transform?")] = None
    consumer_limits: Annotated[ConsumerLimits, Setting("consumerLimits", "*", "consumer limits?")] = sent(
        ConsumerLimits()
    )
    description: Annotated[str, Setting(unread("description"), "description")] = ""
    mirror_direct: Annotated[bool, Setting(unread("mirrorDirect"), "mirror_direct")] = sent(False)
    subject_delete_marker_ttl_ns: Annotated[
        int, Setting(unread("subjectDeleteMarkerTtl"), "subject_delete_marker_ttl", since=(2, 11))
    ] = 0
    allow_msg_counter: Annotated[bool, Setting(unread("allowMsgCounter"), "allow_msg_counter", since=(2, 12))] = False
    allow_atomic: Annotated[bool, Setting(unread("allowAtomicPublish"), "allow_atomic", since=(2, 12))] = False
    allow_batched: Annotated[bool, Setting("", "allow_batched", since=(2, 14))] = False
    persist_mode: Annotated[
        str, Setting(unread("persistMode"), "persist_mode", choices=("", "default", "async"), since=(2, 12))
    ] = ""
    compression: Annotated[str, Setting(unread("compression"), "compression", choices=("none", "s2"))] = "none"
    first_seq: Annotated[int, Setting(unread("firstSequence"), Alias("first_seq", 0), signed=False)] = 0
    placement: Annotated[Placement | None, Setting(unread("placement"), "*")] = None
    republish: Annotated[Republish | None, Setting(unread("republish"), "*")] = None

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


class ConsumerConfig(msgspec.Struct, frozen=True, rename=without_unit):
    """Consumer configuration. With a `backoff`, the server stores its first step as `ack_wait_ns`."""

    name: str = ""
    durable_name: Annotated[str, Setting("durableName", "durable_name")] = ""
    description: Annotated[str, Setting(unread("description"), "description")] = ""
    deliver_policy: Annotated[
        str,
        Setting(
            Alias("deliverPolicy", choices=("all", "last", "new", "byStartSequence", "byStartTime", "lastPerSubject")),
            labels="deliver policy",
            choices=("all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject", "undefined"),
            fixed_since=OLDEST,
        ),
    ] = sent("all")
    opt_start_seq: Annotated[
        int, Setting(Alias("optStartSeq", 0), "stream_sequence", signed=False, fixed_since=OLDEST)
    ] = 0
    opt_start_time: Annotated[datetime | None, Setting("optStartTime", fixed_since=OLDEST)] = None
    ack_policy: Annotated[
        str,
        Setting(
            Alias("ackPolicy", choices=("none", "all", "explicit")),
            "ack_policy",
            "ack policy",
            choices=("none", "all", "explicit", "flow_control"),
            fixed_since=OLDEST,
        ),
    ] = sent("explicit")
    ack_wait_ns: Annotated[int, Setting("ackWait", "ack_wait", "ack wait", "--wait")] = 0
    max_deliver: Annotated[
        int, Setting(Alias("maxDeliver", -1), "max_delivery", "maximum deliveries?", "--max-deliver", limit=-1)
    ] = -1
    backoff_ns: Annotated[tuple[int, ...], Setting("backoff", "backoff", "backoff?")] = ()
    filter_subject: Annotated[str, Setting("filterSubject", "filter_subject", "filter subject?")] = ""
    filter_subjects: Annotated[tuple[str, ...], Setting("filterSubjects", "filter_subjects", "filter subjects?")] = ()
    replay_policy: Annotated[
        str, Setting("replayPolicy", "replay_policy", choices=("instant", "original"), fixed_since=OLDEST)
    ] = sent("instant")
    max_waiting: Annotated[
        int, Setting("maxWaiting", Alias("max_waiting", 0), "max waiting pulls", limit=0, fixed_since=OLDEST)
    ] = 0
    max_ack_pending: Annotated[
        int, Setting("maxAckPending", Alias("max_ack_pending", -1), "max ack pending", "--max-pending", limit=-1)
    ] = 0
    flow_control: Annotated[bool, Setting("flowControl", "flow_control", "flow control?", fixed_since=OLDEST)] = False
    idle_heartbeat_ns: Annotated[
        int, Setting("heartbeatInterval", "heartbeat", "idle heartbeat?", negative=0, fixed_since=OLDEST)
    ] = 0
    headers_only: Annotated[bool, Setting("headersOnly", "headers_only")] = False
    deliver_subject: Annotated[str, Setting("deliverSubject", "delivery_subject", "delivery subject?")] = ""
    deliver_group: Annotated[str, Setting("deliverGroup", "delivery_group", "deliver queue group?")] = ""
    inactive_threshold_ns: Annotated[
        int, Setting("inactiveThreshold", "inactive_threshold", "inactive threshold?", "--inactive-threshold", limit=0)
    ] = 0
    num_replicas: Annotated[int, Setting("replicas", Alias("replicas", 0, 5), "replicas?")] = sent(0)
    mem_storage: Annotated[bool, Setting("memStorage", "memory", fixed_since=(2, 14))] = False
    pause_until: Annotated[datetime | None, Setting(unread("pauseUntil"), since=(2, 11))] = None
    priority_policy: Annotated[
        str,
        Setting(
            Alias("priorityPolicy", choices=()),
            "priority_policy",
            choices=("none", "overflow", "pinned_client", "prioritized"),
            since=(2, 11),
        ),
    ] = ""
    metadata: Annotated[dict[str, str], Setting("metadata", "metadata", "metadata?")] = {}
    priority_groups: Annotated[tuple[str, ...], Setting("priorityGroups", "priority_groups", since=(2, 11))] = ()
    rate_limit_bps: Annotated[int, Setting("rateLimitBps", Alias("ratelimit", 0), signed=False)] = 0
    sample_freq: Annotated[str, Setting(unread("sampleFreq"), Alias("sample_freq", 0, 100))] = ""
    direct: bool = False
    max_batch: Annotated[int, Setting(unread("maxRequestBatch"), Alias("max_batch", 0), limit=0)] = 0
    max_expires_ns: Annotated[int, Setting(unread("maxRequestExpires"), "max_expires", limit=0)] = 0
    max_bytes: Annotated[int, Setting(unread("maxRequestMaxBytes"), Alias("max_bytes", 0), limit=0)] = 0
    priority_timeout_ns: Annotated[int, Setting(unread("pinnedTtl"), "priority_timeout", negative=0, since=(2, 11))] = 0

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
    without_unit(name)
    for struct in (StreamConfig, ConsumerConfig, ConsumerLimits)
    for name in struct.__struct_fields__
    if name.endswith("_ns")
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
