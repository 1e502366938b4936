"""From the digests of a scan to what came more than once: pairs of messages, their distance, whether they differ."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Mapping

from jsdoctor.model.stored_ids import MAX_DISTANCES, MAX_KEPT, Distances, Repeat, RepeatedIds
from jsdoctor.parse.equal_digests import equal_digests
from jsdoctor.parse.stored_columns import Rows, digests_of


class RepeatAggregate:
    """Takes the blocks of a scan in order. Thirty bytes of memory for each message whose id came more than once."""

    def __init__(self) -> None:
        self._digests, self._sequences, self._dates = array("Q"), array("q"), array("q")

    def add(self, rows: Rows) -> None:
        """The next block."""
        for place, digest in enumerate(digests_of(rows)):
            if digest:
                self._digests.append(digest)
                self._sequences.append(rows.sequences[place])
                self._dates.append(rows.dates[place])

    def repeats(self, contents: Mapping[int, str]) -> RepeatedIds:
        """All of them. `contents`: digests of whole messages by sequence, of those that were read whole."""
        distances, count, differing_count = array("q"), 0, 0
        closest, farthest, differing = _Kept(-1), _Kept(1), _Kept(1)
        for before, place in equal_digests(self._digests):
            repeat = self._repeat(before, place, contents)
            count += 1
            if repeat.differs:
                differing_count += 1
                differing.add(repeat)
            else:
                if len(distances) < MAX_DISTANCES:
                    distances.append(repeat.distance_ns)
                closest.add(repeat)
                farthest.add(repeat)
        kept = {repeat.stream_seq: repeat for repeat in (*closest.all, *farthest.all)}
        return RepeatedIds(
            count=count,
            ids=len(self._digests) - count,
            kept=_in_order(kept.values()),
            distances=Distances(distances),
            differing=_in_order(differing.all),
            differing_count=differing_count,
            compared=len(contents),
        )

    def _repeat(self, before: int, place: int, contents: Mapping[int, str]) -> Repeat:
        first_seq, stream_seq = self._sequences[before], self._sequences[place]
        first, second = contents.get(first_seq), contents.get(stream_seq)
        differs = None if first is None or second is None else first != second
        return Repeat(first_seq, self._dates[before], stream_seq, self._dates[place], differs)


class _Kept:
    """The farthest repeats, or with `sign` -1 the closest."""

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._heap: list[tuple[int, int, Repeat]] = []

    @property
    def all(self) -> list[Repeat]:
        return [repeat for _, _, repeat in self._heap]

    def add(self, repeat: Repeat) -> None:
        entry = (self._sign * repeat.distance_ns, -repeat.stream_seq, repeat)
        if len(self._heap) < MAX_KEPT:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)


def _in_order(repeats: Iterable[Repeat]) -> tuple[Repeat, ...]:
    return tuple(sorted(repeats, key=lambda repeat: repeat.stream_seq))
