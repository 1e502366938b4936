"""Brings the hits of many runs together: all of one signature and subject are a group."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import msgspec

from jsdoctor.model.log_scan import Row
from jsdoctor.parse.logs.scan.hit_runs import FoundHit, found_hit, hits_of
from jsdoctor.parse.logs.scan.native_core import NativeGroup, hit_groups
from jsdoctor.parse.logs.scan.rows import HitSource


class HitGroup(NamedTuple):
    """The hits of one key; or, without any, how many lines and subjects of a signature are left out."""

    signature: str
    hits: list[FoundHit]
    lines: int = 0
    subjects: int = 0


def groups_of(runs: Iterable[Row]) -> Iterator[HitGroup]:
    """All hits by key. Runs come in order."""
    for _, same in groupby(_in_order(runs), key=lambda hit: hit[0]):
        hits = [hit for _, _, _, _, hit, _ in same]
        yield HitGroup(hits[0].signature.name, hits)


_source = msgspec.msgpack.Decoder(HitSource)


def native_groups_of(runs: Iterable[Row], kept: int, server_of: Callable[[HitSource], str]) -> Iterator[HitGroup]:
    """The same from the compiled core, which leaves out groups that are certainly none of the `kept` largest."""
    core = hit_groups(kept)
    servers: dict[str, int] = {}

    def number(source: bytes) -> int:
        return servers.setdefault(server_of(_source.decode(source)), len(servers))

    for run in runs:
        yield from map(_unpacked, core.add(run.seq, run.value, number))
    yield from map(_unpacked, core.end(number))


def _unpacked(group: NativeGroup) -> HitGroup:
    signature, hits, lines, subjects = group
    return HitGroup(signature, list(map(found_hit, hits)), lines, subjects)


_Next = tuple[str, int, int, int, FoundHit, Iterator[FoundHit]]
"""The next hit of a run, behind its key, its time, the start of its part and the number of its run; and the others."""


def _in_order(runs: Iterable[Row]) -> Iterator[_Next]:
    """The hits of all runs. A run is opened when all hits before its first one have been passed on."""
    opened: list[_Next] = []
    for number, run in enumerate(runs):
        while opened and opened[0][0] < run.key:
            yield _passed(opened)
        left = hits_of(run)
        first = next(left)
        heapq.heappush(opened, (first.key, first.first_us, run.seq, number, first, left))
    while opened:
        yield _passed(opened)


def _passed(opened: list[_Next]) -> _Next:
    passed = opened[0]
    _, _, seq, number, _, left = passed
    after = next(left, None)
    if after is None:
        heapq.heappop(opened)
    else:
        heapq.heapreplace(opened, (after.key, after.first_us, seq, number, after, left))
    return passed
