"""Which streams deduplicate what clients publish, and how long a window they need (server: checkStreamCfg)."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import StoredMessages

NS_PER_S = 1_000_000_000
DEFAULT_WINDOW_NS = 120 * NS_PER_S
"""The window of a stream that sets none, in ns; `max_age` if that is shorter."""


def is_published_to(stream: Stream) -> bool:
    """Whether clients publish to it with ids. Those of buckets and object stores send none, mirrors are only copied."""
    return bool(stream.config.subjects) and not (stream.config.mirror or stream.is_key_value or stream.is_object_store)


def deduplicating(snapshots: SnapshotSeries) -> Iterator[Stream]:
    """Streams that clients publish to and that have a window."""
    for stream in snapshots.last.led_streams():
        if stream.config.duplicate_window_ns > 0 and is_published_to(stream):
            yield stream


def retry_horizon_ns(params: Params) -> int:
    """How long after its first attempt a publisher may try again: as configured, else what every client does."""
    known = params.optional("retry_horizon")
    shortest = params.integer("shortest_retry")
    return shortest if known is None else max(int(known), shortest)


def ids_counted(stored: StoredMessages | None) -> set[tuple[str, str]]:
    """Account and name of the streams whose stored messages were read for ids; nothing is estimated for these."""
    return {(stream.account, stream.stream) for stream in stored.streams if stream.ids_read} if stored else set()


def comfortable_window_s(horizon_ns: int, stream: Stream) -> int:
    """A window in seconds: half as long again as the horizon, at least the default, at most what `max_age` allows."""
    wanted = max(DEFAULT_WINDOW_NS, horizon_ns * 3 // 2)
    allowed = stream.config.max_age_ns or wanted
    return max(min(wanted, allowed) // NS_PER_S, 1)
