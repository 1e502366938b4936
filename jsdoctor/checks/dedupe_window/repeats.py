"""Messages with equal ids, stored or acknowledged as duplicates, and the duplicate windows that apply to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from jsdoctor.model.finding import Observation
from jsdoctor.model.log import Occurrence
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.stored import StoredMessages, StoredStream, moment
from jsdoctor.model.stored_ids import Repeat
from jsdoctor.model.wording import counted, span

DUPLICATE_ACKS = (
    "duplicate-ack-json",
    "duplicate-ack-go",
    "duplicate-ack-python",
    "duplicate-ack-rust-javascript",
    "duplicate-ack-net",
    "duplicate-exception-net",
    "duplicate-ack-traced",
)
"""Signatures that name the sequence of the message that was stored first, as `stream_seq`."""


def sequences(occurrences: Iterable[Occurrence]) -> tuple[int, int] | None:
    """The lowest and highest sequence that were called the original."""
    measures = [measure for occurrence in occurrences if (measure := occurrence.measure("stream_seq"))]
    if not measures:
        return None
    return min(measure.smallest for measure in measures), max(measure.largest for measure in measures)


NS_PER_S = 1_000_000_000
DEFAULT_WINDOW_NS = 120 * NS_PER_S
"""The window of a stream that sets none, in ns; `max_age` if that is shorter."""


def is_published_to(stream: Stream) -> bool:
    """Whether clients publish to it with ids. Those of buckets and object stores send none, mirrors are only copied."""
    return bool(stream.config.subjects) and not (stream.config.mirror or stream.is_key_value or stream.is_object_store)


def deduplicating(snapshots: SnapshotSeries) -> Iterator[Stream]:
    """Streams that clients publish to and that have a window."""
    return (s for s in snapshots.last.led_streams() if s.config.duplicate_window_ns > 0 and is_published_to(s))


def retry_horizon_ns(params: Params) -> int:
    """How long after its first attempt a publisher may retry: `retry_horizon`, at least the `shortest_retry`."""
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


STEPS_NS = tuple(
    seconds * NS_PER_S
    for seconds in (1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800)
)
"""Common lengths of duplicate windows."""
_SHOWN = 3


class ScannedStream(msgspec.Struct, frozen=True):
    """A stream that was read, with its configuration.

    `windows` are the duplicate windows that its messages passed: its own where clients publish to it, those of its
    origins where it copies. Empty: not known.
    """

    stored: StoredStream
    stream: Stream
    windows: tuple[int, ...]

    @property
    def is_copy(self) -> bool:
        """Whether its messages were deduplicated elsewhere."""
        return self.stream.config.mirror is not None or bool(self.stream.config.sources)

    @property
    def shortest_window_ns(self) -> int | None:
        """Distance in nanoseconds above which a repeat may be stored; None if unknown."""
        return min(self.windows, default=None)


def scanned(stored: StoredMessages, snapshots: SnapshotSeries) -> Iterator[ScannedStream]:
    """Streams whose ids were compared, without those that no leader reported in the last sample."""
    led = snapshots.last.led_by_key
    for stored_stream in stored.streams:
        stream = led.get((stored_stream.account, stored_stream.stream)) or (
            None if stored_stream.account else _only_of_name(led.values(), stored_stream.stream)
        )
        if stream is not None and stored_stream.ids_read:
            yield ScannedStream(stored_stream, stream, tuple(_windows(stream, led)))


def _only_of_name(streams: Iterable[Stream], name: str) -> Stream | None:
    streams_of_name = [stream for stream in streams if stream.name == name]
    return streams_of_name[0] if len(streams_of_name) == 1 else None


def _windows(stream: Stream, led: Mapping[tuple[str, str], Stream]) -> Iterator[int]:
    config = stream.config
    if config.subjects and not config.mirror and config.duplicate_window_ns > 0:
        yield config.duplicate_window_ns
    for copied in config.origins:
        origin = led.get((stream.account, copied.name)) if copied.external is None else None
        if origin is not None and origin.config.duplicate_window_ns > 0:
            yield origin.config.duplicate_window_ns


def catching_window_ns(repeats: ScannedStream, longest_ns: int) -> tuple[int, int]:
    """A round window that would have caught all repeats no farther apart than `longest_ns`, and how many these are."""
    distances = repeats.stored.repeats.distances
    farthest = distances.largest_below(longest_ns + 1)
    wanted = farthest * 3 // 2
    window = next((step for step in STEPS_NS if step > max(wanted, farthest)), wanted)
    max_age = repeats.stream.config.max_age_ns
    window = min(window, max_age) if max_age > 0 else window
    return window, distances.below(window)


def examples(repeats: Iterable[Repeat]) -> str:
    """Such as `message 12 repeats 7 after 3m`, for a few repeats."""
    reported = [f"message {r.stream_seq:,} repeats {r.before_seq:,} after {span(r.distance_ns)}" for r in repeats]
    return ", ".join(reported[:_SHOWN]) + (" …" if len(reported) > _SHOWN else "")


def observed(stored: StoredStream, repeats: Iterable[Repeat]) -> Iterator[Observation]:
    """Both messages of a few repeats, each with its date."""
    for repeat in list(repeats)[:_SHOWN]:
        for seq, at_ns in ((repeat.before_seq, repeat.before_ns), (repeat.stream_seq, repeat.at_ns)):
            yield stored.observed(f"message {seq} time", moment(at_ns))


def of_those_read(stored: StoredStream) -> str:
    """Such as `12 of 4,000 messages`."""
    return f"{stored.repeats.count:,} of {counted(stored.messages, 'message')}"
