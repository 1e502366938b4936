"""Brings the hits of many runs together: all of one signature and subject are a group."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import NamedTuple

import msgspec

from jsdoctor.model.log import Histogram, Measure
from jsdoctor.model.log_scan import Row
from jsdoctor.parse.logs.aggregate.hits import MergedHits, OneSubject, ServerHits, by_server
from jsdoctor.parse.logs.scan.hit_runs import FoundHit, HitSignature, hits_of
from jsdoctor.parse.logs.scan.native_core import NativeGroup, hit_groups
from jsdoctor.parse.logs.scan.rows import HitSource, KeptLine


class HitGroup(NamedTuple):
    """What one signature and subject has on each server; or, without any, how many lines and subjects are left out."""

    signature: str
    on_servers: list[OneSubject]
    lines: int = 0
    subjects: int = 0


def groups_of(runs: Iterable[Row], server_of: Callable[[HitSource], str]) -> Iterator[HitGroup]:
    """All hits by key. Runs come in order."""
    for _, same in groupby(_in_order(runs), key=lambda item: item[0]):
        hits = [hit for _, _, _, _, hit, _ in same]
        # Where nearly every key has one hit, few of them are kept: rows are made of these only.
        lone = len(hits) == 1
        on_servers = (
            [OneSubject(hits[0].count, partial(_lone, hits[0], server_of))] if lone else _by_server(hits, server_of)
        )
        yield HitGroup(hits[0].signature.name, on_servers)


def _by_server(hits: Iterable[FoundHit], server_of: Callable[[HitSource], str]) -> list[OneSubject]:
    return list(by_server(ServerHits(server_of(hit.source), hit.row()) for hit in hits))


def _lone(hit: FoundHit, server_of: Callable[[HitSource], str]) -> MergedHits:
    return _by_server([hit], server_of)[0].merged()


class _PackedHits(msgspec.Struct, array_like=True, gc=False):
    """`MergedHits` from the compiled core, which has numbers for sources."""

    source: int
    zoned: bool
    signature: HitSignature
    subject: tuple[str, ...]
    count: int
    bucket_us: int
    histogram: Histogram
    measures: list[tuple[str, int, int, int]]
    shown: list[tuple[int, KeptLine]]
    first_text: str | None


_source = msgspec.msgpack.Decoder(HitSource)
_packed_hits = msgspec.msgpack.Decoder(_PackedHits)


def native_groups_of(runs: Iterable[Row], kept: int, server_of: Callable[[HitSource], str]) -> Iterator[HitGroup]:
    """The same from the compiled core, which leaves out groups that are certainly none of the `kept` largest."""
    core = hit_groups(kept)
    servers: dict[str, int] = {}
    sources: list[tuple[HitSource, str]] = []

    def number(packed: bytes) -> int:
        source = _source.decode(packed)
        server = server_of(source)
        sources.append((source, server))
        return servers.setdefault(server, len(servers))

    def merged(packed: bytes) -> MergedHits:
        hits = _packed_hits.decode(packed)
        return MergedHits(
            signature=hits.signature.name,
            server=sources[hits.source][1],
            zoned=hits.zoned,
            subject=tuple(zip(hits.signature.fields, hits.subject, strict=True)),
            lines=hits.count,
            bucket_us=hits.bucket_us,
            histogram=hits.histogram,
            measures=tuple([Measure(*measure) for measure in hits.measures]),
            shown=[(sources[source][0], seen) for source, seen in hits.shown],
            first_text=hits.first_text,
        )

    def group(native: NativeGroup) -> HitGroup:
        signature, packed, lines, subjects = native
        by_name = sorted(map(merged, packed), key=lambda hits: (hits.server, hits.zoned))
        return HitGroup(
            signature, [OneSubject(hits.lines, partial(_itself, hits)) for hits in by_name], lines, subjects
        )

    for run in runs:
        yield from map(group, core.add(run.seq, run.value, number))
    yield from map(group, core.end())


def _itself(hits: MergedHits) -> MergedHits:
    return hits


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
