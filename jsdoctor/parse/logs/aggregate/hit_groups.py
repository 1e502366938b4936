"""Brings the hits of many runs together: all of one signature and subject are a group."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import msgspec

from jsdoctor.model.log_scan import Row
from jsdoctor.parse.logs.scan.hit_runs import Hit, hits_of
from jsdoctor.parse.logs.scan.native_core import hit_groups
from jsdoctor.parse.logs.scan.rows import ProcessRef


class HitGroup(NamedTuple):
    """The packed `HitRow`s of one key; or, without any, how many lines and subjects of a signature are left out."""

    signature: str
    rows: list[bytes]
    lines: int = 0
    subjects: int = 0


class HitSource(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Who wrote the lines of a `HitRow`: its first fields."""

    file: str
    start: int
    name: str
    process: ProcessRef


def groups_of(runs: Iterable[Row]) -> Iterator[HitGroup]:
    """All hits by key. Runs come in order."""
    for key, same in groupby(_in_order(runs), key=lambda hit: hit[0]):
        yield HitGroup(key.partition("\x1f")[0], [row for _, _, _, row, _, _ in same])


def native_groups_of(runs: Iterable[Row], kept: int, server_of: Callable[[HitSource], str]) -> Iterator[HitGroup]:
    """The same from the compiled core, which leaves out groups that are certainly none of the `kept` largest."""
    core = hit_groups(kept)
    servers: dict[str, int] = {}

    def number(source: bytes) -> int:
        return servers.setdefault(server_of(msgspec.msgpack.decode(b"\x94" + source, type=HitSource)), len(servers))

    for run in runs:
        yield from map(HitGroup._make, core.add(run.seq, run.value, number))
    yield from map(HitGroup._make, core.end(number))


_Next = tuple[str, int, int, bytes, int, Iterator[Hit]]
"""The next hit of a run by what it is ordered by, the number of the run, and its other hits."""


def _in_order(runs: Iterable[Row]) -> Iterator[_Next]:
    """The hits of all runs. A run is opened when all hits before its first one have been passed on."""
    opened: list[_Next] = []
    for number, run in enumerate(runs):
        while opened and opened[0][0] < run.key:
            yield _passed(opened)
        left = iter(hits_of(run))
        first = next(left)
        heapq.heappush(opened, (first.key, first.at_us, run.seq, bytes(first.row), number, left))
    while opened:
        yield _passed(opened)


def _passed(opened: list[_Next]) -> _Next:
    passed = opened[0]
    _, _, seq, _, number, left = passed
    after = next(left, None)
    if after is None:
        heapq.heappop(opened)
    else:
        heapq.heapreplace(opened, (after.key, after.at_us, seq, bytes(after.row), number, left))
    return passed
