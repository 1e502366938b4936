"""Assets that were created, deleted or elected a leader while a sample was taken: identity is name and creation time.

Servers, and pages of a list, are read side by side. An asset that one of them still lists and that its leader no longer
knows is no fault and no gap. It was requested again (`sources.servers.torn`), and that reply decides: an asset that is
gone, or that was recreated and is not led yet, is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TypeVar

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream, UnresponsiveAsset

_YOUNG = timedelta(seconds=10)
"""How much older than a sample an asset is that may not have had a leader in it; clocks may differ by as much."""

Key = tuple[str, str]
_Asset = TypeVar("_Asset", Stream, Consumer)


class Repeated(msgspec.Struct, frozen=True):
    """Replies to a repeated request: streams by account and name, from `accounts` or single streams (`asked`).

    `consumers`: those requested one by one, None if none of that name exists any more. `silent`: assets of which only
    the name was reported again.
    """

    streams: Mapping[Key, Stream]
    accounts: frozenset[str] = frozenset()
    asked: frozenset[Key] = frozenset()
    consumers: Mapping[Subject, Consumer | None] = {}
    silent: frozenset[Subject] = frozenset()

    def covers(self, key: Key) -> bool:
        """Whether that stream would be in `streams` if it were there."""
        return key in self.asked or key[0] in self.accounts


def settled(
    streams: Iterable[Stream], silent: Collection[UnresponsiveAsset], again: Repeated
) -> tuple[tuple[Stream, ...], tuple[UnresponsiveAsset, ...]]:
    """The streams of a sample, torn assets as in the repeated replies, and the assets that stay silent."""
    sampled = {stream.key: stream for stream in streams}
    without_state = {asset.subject for asset in silent}
    kept = {key: each for key, stream in sampled.items() if (each := _as_repeated(stream, again, without_state))}
    for subject, consumer in again.consumers.items():
        of_stream = kept.get((subject.account, subject.stream))
        if of_stream is not None and subject in without_state:
            kept[of_stream.key] = _with_consumer(of_stream, subject.name, consumer)
    # Streams of which the sample had only the name.
    for subject in without_state:
        key = (subject.account, subject.name)
        if subject.kind == "stream" and key not in sampled and key in again.streams:
            kept[key] = again.streams[key]
    still_silent = tuple(asset for asset in silent if _stays_silent(asset.subject, again))
    return tuple(kept[key] for key in sorted(kept)), still_silent


def _as_repeated(stream: Stream, again: Repeated, without_state: Collection[Subject]) -> Stream | None:
    """A stream of the sample with torn consumers replaced, or its replacement; None where it is left out."""
    if not again.covers(stream.key):
        return stream
    if stream.from_leader and stream.subject not in without_state:
        return _with_consumers(stream, again.streams.get(stream.key), without_state)
    return _replacement(stream, again.streams.get(stream.key))


def _with_consumers(stream: Stream, repeated: Stream | None, without_state: Collection[Subject]) -> Stream:
    """The stream with each torn consumer as in the repeated reply."""
    names = {subject.name for subject in without_state if (subject.account, subject.stream) == stream.key}
    if not names and all(consumer.from_leader for consumer in stream.consumers):
        return stream
    known = {} if repeated is None else {consumer.name: consumer for consumer in repeated.consumers}
    kept = {c.name: c for c in stream.consumers if c.from_leader and c.name not in names}
    for consumer in stream.consumers:
        if consumer.name not in kept:
            replacement = _replacement(consumer, known.get(consumer.name))
            kept |= {consumer.name: replacement} if replacement else {}
    kept |= {name: known[name] for name in names - kept.keys() if name in known}
    return msgspec.structs.replace(stream, consumers=tuple(kept[name] for name in sorted(kept)))


def _with_consumer(stream: Stream, name: str, consumer: Consumer | None) -> Stream:
    kept = {c.name: c for c in stream.consumers if c.name != name} | ({} if consumer is None else {name: consumer})
    return msgspec.structs.replace(stream, consumers=tuple(kept[each] for each in sorted(kept)))


def _replacement(torn: _Asset, repeated: _Asset | None) -> _Asset | None:
    """The replacement of a torn asset: None if it is gone, or was recreated and is not led yet."""
    if repeated is not None and (repeated.from_leader or repeated.created == torn.created):
        return repeated
    return None


def _stays_silent(subject: Subject, again: Repeated) -> bool:
    if subject in again.consumers:
        return False
    key = (subject.account, subject.stream if subject.kind == "consumer" else subject.name)
    return not again.covers(key) or subject in again.silent


def lasting(gaps: Iterable[Gap], earlier: ClusterSnapshot, last: ClusterSnapshot) -> Iterator[Gap]:
    """The gaps about assets in an earlier sample that still matter when the last one is known.

    Assets that are gone or were just created need none; assets that are still not shown have a gap of the last sample.
    """
    assets: dict[Subject, Stream | Consumer] = {}
    for stream in last.streams:
        assets[stream.subject] = stream
        assets |= {consumer.subject: consumer for consumer in stream.consumers}
    for gap in gaps:
        asset = assets.get(gap.subject)
        if asset is not None and asset.from_leader and not _is_young(asset, earlier):
            yield gap


def is_new(asset: Stream | Consumer) -> bool:
    """Whether it was made so shortly before it was read that its first election may be going on."""
    return asset.created is not None and asset.at - asset.created < _YOUNG


def _is_young(asset: Stream | Consumer, sample: ClusterSnapshot) -> bool:
    return asset.created is not None and asset.created > sample.taken_at - _YOUNG
