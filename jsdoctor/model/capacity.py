"""How much space servers, accounts and streams have, how fast it fills, and what further streams find room."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.jetstream import Placement, StreamConfig
from jsdoctor.model.report import EvidenceOrigin

SCHEMA = "jsdoctor.capacity/v1"
OLDEST_GO = "then the oldest messages go"
"""What happens at the limit of a stream that is meant to be full."""


class StorageType(StrEnum):
    """Where a stream is stored."""

    FILE = "file"
    MEMORY = "memory"


class Figure(msgspec.Struct, frozen=True):
    """A number and the reply that it comes from: `JSZ reserved_storage`. `value` None: it does not show."""

    name: str
    value: float | int | None
    reply: str
    unit: str = "bytes"


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """When a limit is reached at the rates that were seen up to `at`.

    `earliest` is at the highest rate, `expected` at the mean, `latest` at the lowest; None: not at that rate, or later
    than a calendar goes. `then` is what happens.
    """

    limit: str
    value: int
    unit: str = "bytes"
    at: datetime
    earliest: datetime
    expected: datetime | None = None
    latest: datetime | None = None
    then: str = ""


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """The space of one storage (`file`, `memory`) of a server or an account. `words` are sentences without a stop."""

    subject: Subject
    storage: str
    figures: tuple[Figure, ...]
    due: tuple[Due, ...] = ()
    words: tuple[str, ...] = ()

    def value(self, name: str) -> int:
        """A figure by its name; 0 where it does not show."""
        return int(next((figure.value for figure in self.figures if figure.name == name), None) or 0)


class GrowthRate(msgspec.Struct, frozen=True):
    """Growth per second: between two readings at the least and at the most, and over all of them."""

    low: float
    mean: float
    high: float


class StreamGrowth(msgspec.Struct, frozen=True, kw_only=True):
    """A stream with its growth. `rate` None: it was not read twice. `readings` lie `span_s` apart, the first and last.

    `copies` is on how many servers its bytes are; None, and no `storage`: that does not show.
    """

    subject: Subject
    bytes: int
    copies: int | None
    storage: str
    rate: GrowthRate | None = None
    readings: int = 1
    span_s: float = 0.0
    due: tuple[Due, ...] = ()


class Headroom(msgspec.Struct, frozen=True):
    """What else a server or a stream may run out of."""

    subject: Subject
    figures: tuple[Figure, ...]


class Fit(msgspec.Struct, frozen=True):
    """How many of the streams a server has room for by itself, and the largest max_bytes that it takes."""

    server: str
    streams: int
    left: int
    why: str = ""


class StreamRoom(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a cluster, a single server or an account takes so many further streams. `fit` None: it does not show.

    The streams have a max_bytes of `size`, and go where servers have all of the `tags`.
    """

    size: int
    replicas: int
    streams: int
    storage: StorageType = StorageType.FILE
    tags: tuple[str, ...] = ()
    fit: int | None
    place: str = ""
    is_account: bool = False
    why: str = ""
    servers: tuple[Fit, ...] = ()

    @property
    def config(self) -> StreamConfig:
        """The configuration of each of the streams."""
        placement = Placement(tags=self.tags) if self.tags else None
        return StreamConfig(max_bytes=self.size, num_replicas=self.replicas, storage=self.storage, placement=placement)

    @property
    def has_all(self) -> bool | None:
        """Whether all find room; None: that does not show."""
        return None if self.fit is None else self.fit >= self.streams


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The space of a deployment. `room` has a row for each cluster or single server, and each account that refuses.

    `has_room`: whether some place and some account take all that was wanted; None: nothing was, or it does not show.
    """

    spaces: tuple[Space, ...] = ()
    streams: tuple[StreamGrowth, ...] = ()
    headroom: tuple[Headroom, ...] = ()
    room: tuple[StreamRoom, ...] = ()
    has_room: bool | None = None
    unseen: tuple[Gap, ...] = ()


class CapacityReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run."""

    version: str
    started: datetime
    headline: str
    sources: tuple[EvidenceOrigin, ...]
    result: Capacity
