"""Streams and consumers of a cluster in one sample, and in several consecutive samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Self, TypeVar

import msgspec

from jsdoctor.model.evidence import GAPS_OF_ASSETS, NO_ASSETS, Evidence
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.jetstream import (
    Cluster,
    ConsumerConfig,
    PriorityGroup,
    SequencePair,
    SourceConfig,
    SourceInfo,
    StreamConfig,
    StreamState,
)
from jsdoctor.model.partial import raw_field
from jsdoctor.model.reported import Instant, Reported, sent


class ConsumerReplica(Reported, frozen=True):
    """The stored state of a consumer on one server that is not the leader. Its pending and waiting counts mean nothing.

    `is_leader`: the server claims to lead it as well.
    """

    server: str
    delivered: SequencePair
    ack_floor: SequencePair
    num_ack_pending: int = 0
    is_leader: bool = False


class ConsumerReport(Reported, frozen=True):
    """What a server reports of a consumer."""

    config: ConsumerConfig = sent(ConsumerConfig())
    delivered: SequencePair = sent(SequencePair())
    ack_floor: SequencePair = sent(SequencePair())
    num_ack_pending: int = sent(0)
    num_redelivered: int = sent(0)
    num_waiting: int = sent(0)
    num_pending: int = sent(0)
    push_bound: bool = False
    paused: bool = False
    pause_remaining_ns: int = msgspec.field(name="pause_remaining", default=0)
    created: Instant | None = sent(None)
    cluster: Cluster | None = None
    priority_groups: tuple[PriorityGroup, ...] = ()


class Consumer(ConsumerReport, frozen=True, kw_only=True, dict=True):
    """A consumer as its leader reports it.

    `from_leader` False: the values are a follower's and must not be judged; `has_leader`: some server is known to lead
    it. `at` is the clock of `answered_by`.
    """

    account: str
    stream: str
    name: str
    config: ConsumerConfig
    delivered: SequencePair
    ack_floor: SequencePair
    has_leader: bool = True
    from_leader: bool = True
    answered_by: str = ""
    at: datetime
    replicas: tuple[ConsumerReplica, ...] = ()

    @cached_property
    def subject(self) -> Subject:
        """This consumer as the subject of a finding: made once, as every third rule needs it."""
        return Subject("consumer", self.name, self.account, self.stream)

    def observed(self, path: str, value: object) -> Observation:
        """A value of this consumer as evidence."""
        return Observation(source=self.answered_by, path=path, value=value, at=self.at)


class StreamReplica(Reported, frozen=True):
    """The state of a stream on one server, leader or not. `at` is that server's clock."""

    server: str
    state: StreamState
    at: datetime
    is_leader: bool = False


StreamKey = tuple[str, str, str]
"""A stream: the label of its domain, its account as its servers name it, and its name."""


class StreamReport(Reported, frozen=True):
    """What a server reports of a stream, without its consumers."""

    config: StreamConfig
    state: StreamState = sent(StreamState())
    created: Instant | None = sent(None)
    cluster: Cluster | None = None
    mirror: SourceInfo | None = None
    sources: tuple[SourceInfo, ...] = ()


class Stream(StreamReport, frozen=True, kw_only=True, dict=True):
    """A stream as its leader reports it, with its consumers.

    `has_leader` False: no server leads it. `from_leader` False: the leader sent no reply; `state` is then the fullest
    copy that another server reported and must not be judged. `consumers_seen` False: the consumers were not requested,
    or not all of them could be collected; `consumers` may be incomplete. `replicas` holds every server's own copy if
    the access shows it (system account, monitoring), otherwise nothing. `domain` is the label of its JetStream domain,
    as `Server.domain`; empty if no server reported it. `is_given` False: only consumers of it were given.
    """

    account: str
    domain: str = ""
    name: str
    state: StreamState
    has_leader: bool = True
    from_leader: bool = True
    answered_by: str = ""
    at: datetime
    consumers: tuple[Consumer, ...] = ()
    consumers_seen: bool = True
    is_given: bool = True
    replicas: tuple[StreamReplica, ...] = ()

    @cached_property
    def subject(self) -> Subject:
        """This stream as the subject of a finding."""
        return Subject("stream", self.name, self.account)

    @property
    def key(self) -> tuple[str, str]:
        """Account and name."""
        return self.account, self.name

    @property
    def own_account(self) -> str:
        """The account as its servers name it, without the domain that is added where several domains have it."""
        return self.account.removesuffix(f"@{self.domain}") if self.domain else self.account

    @property
    def cluster_name(self) -> str:
        """The name of the cluster that holds it; empty for a server alone."""
        return self.cluster.name if self.cluster else ""

    @property
    def key_in_domain(self) -> StreamKey:
        """Domain, account and name."""
        return self.domain, self.own_account, self.name

    def key_of_origin(self, source: SourceConfig) -> StreamKey | None:
        """The stream of its own account that it copies; None for another account, to which another prefix leads."""
        if source.external is None:
            return self.domain, self.own_account, source.name
        return (source.external.domain, self.own_account, source.name) if source.external.domain else None

    @property
    def is_key_value(self) -> bool:
        """A key-value bucket is a stream named `KV_…` (ADR-8)."""
        return self.name.startswith("KV_")

    @property
    def is_clustered(self) -> bool:
        """Whether the stream is in a cluster. A single server names itself as leader, but no cluster."""
        return self.cluster is not None and bool(self.cluster.name)

    @property
    def is_mqtt(self) -> bool:
        """The server makes streams named `$MQTT_…` for the sessions and messages of MQTT clients (server: mqtt.go)."""
        return self.name.startswith("$MQTT_")

    @property
    def is_object_store(self) -> bool:
        """An object-store bucket is a stream named `OBJ_…` (ADR-20)."""
        return self.name.startswith("OBJ_")

    @property
    def is_governor(self) -> bool:
        """Each message is a place that a program has taken until it is done: a full stream refuses the next program,
        which is what a governor is for (jsm.go: governor.go).
        """
        return self.name.startswith("GOVERNOR_") and self.config.subjects == (
            f"$GOVERNOR.campaign.{self.name.removeprefix('GOVERNOR_')}",
        )

    def observed(self, path: str, value: object) -> Observation:
        """A value of this stream as evidence."""
        return Observation(source=self.answered_by, path=path, value=value, at=self.at)


def reported(report: StreamReport | ConsumerReport) -> dict[str, Any]:
    """The fields of a report by name, to build a `Stream` or `Consumer` from."""
    shape = StreamReport if isinstance(report, StreamReport) else ConsumerReport
    return {name: getattr(report, name) for name in shape.__struct_fields__}


Asset = TypeVar("Asset", Stream, Consumer)


def same_incarnation(asset: Asset, other: Asset) -> bool:
    """Whether two readings of one name can be of the same asset: their creation times are equal, or one has none.
    Also a stream whose later state continues the earlier one: a restart may change its time (nats-server#8470).
    """
    first, second = raw_field(asset, "created"), raw_field(other, "created")
    if first is None or second is None or first == second:
        return True
    before, after = sorted((asset, other), key=lambda reading: reading.at)
    if isinstance(before, Consumer):
        return False
    return _continues(before.state, after.state)


def _continues(old: StreamState, new: StreamState) -> bool:
    """Whether the later state begins with a message that the earlier one held, and ends no earlier."""
    if new.last_seq < old.last_seq:
        return False
    if not old.messages or not new.messages:
        return old.messages == new.messages and new.last_seq > 0
    if old.first_ts is None or new.first_ts is None or old.last_ts is None:
        return False
    held = old.first_seq <= new.first_seq <= old.last_seq and new.first_ts <= old.last_ts
    return held or old.first_ts == new.first_ts


MAX_UNRESPONSIVE = 10_000
"""Maximum number of unresponsive assets that are reported one by one; of the others only the number is reported."""


class UnresponsiveAsset(msgspec.Struct, frozen=True):
    """An existing stream or consumer for which no server responded, with the server's reason if it gave one."""

    subject: Subject
    reason: str
    offline: bool = False


class ClusterSnapshot(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All streams and consumers that could be collected in one sample. `taken_at` is our clock.

    `listed` names the accounts that listed all their streams: what is neither in `streams` nor `silent` is not there.
    `is_pasted`: somebody gave it, so it cannot be taken again.
    """

    taken_at: datetime
    streams: tuple[Stream, ...]
    silent: tuple[UnresponsiveAsset, ...] = ()
    listed: frozenset[str] = frozenset()
    is_pasted: bool = False

    def led_streams(self) -> Iterator[Stream]:
        """Streams whose leader reported them: the only ones whose state may be judged."""
        return (stream for stream in self.streams if stream.from_leader)

    @cached_property
    def led_by_key(self) -> Mapping[tuple[str, str], Stream]:
        """The same by account and name."""
        return {stream.key: stream for stream in self.led_streams()}

    def led_consumers(self) -> Iterator[tuple[Stream, Consumer]]:
        """Consumers whose leader reported them, each with its stream; none of streams that cannot be judged."""
        return iter(self._led_consumers)

    def led_assets(self) -> Iterator[Stream | Consumer]:
        """These streams, then these consumers."""
        yield from self.led_streams()
        yield from (consumer for _, consumer in self._led_consumers)

    @cached_property
    def _led_consumers(self) -> tuple[tuple[Stream, Consumer], ...]:
        """Listed once: every third rule goes through them."""
        return tuple((stream, c) for stream in self.led_streams() for c in stream.consumers if c.from_leader)

    def without(self, subject: Subject) -> ClusterSnapshot:
        """The same without that stream or consumer. A consumer that is left out still exists.

        No check may conclude that its stream has none.
        """
        streams = []
        for stream in self.streams:
            if stream.subject == subject:
                continue
            known = raw_field(stream, "consumers")
            kept = tuple(consumer for consumer in known if consumer.subject != subject)
            changed = len(kept) < len(known)
            streams.append(msgspec.structs.replace(stream, consumers=kept, consumers_seen=False) if changed else stream)
        return msgspec.structs.replace(self, streams=tuple(streams))


class SnapshotSeries(Evidence, frozen=True):
    """One or more snapshots, oldest first. Evidence for every rule that judges a state."""

    parts = ("assets", "consumers")
    unavailable = NO_ASSETS
    said_by = ("assets",)
    of_deployment = True
    left_out_by = GAPS_OF_ASSETS

    snapshots: tuple[ClusterSnapshot, ...]

    @property
    def last(self) -> ClusterSnapshot:
        """The newest snapshot."""
        return self.snapshots[-1]

    def without(self, subject: Subject) -> Self:
        """The same without that stream or consumer."""
        return msgspec.structs.replace(self, snapshots=tuple(each.without(subject) for each in self.snapshots))
