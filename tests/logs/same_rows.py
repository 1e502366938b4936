"""What two scans of the same text must agree in: every row, however often each let go of what it had counted."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.scan.block import EXEMPLARS
from jsdoctor.logs.scan.part import BLOCK
from jsdoctor.logs.scan.rows import HIT, HitRow, KeptLine, hits_of
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import MINUTE_US
from jsdoctor.model.log_scan import Part, Row
from jsdoctor.sources.archives.discover import discover
from jsdoctor.sources.archives.part import Scanner
from jsdoctor.sources.archives.split import PART_BYTES, split

_UNDATED = 1 << 62


def reference(matcher: Matcher, block: int = BLOCK) -> Scanner:
    """The scan in Python."""
    return Scanner(matcher, block=block, native=False)


def parts_of(inputs: Iterable[Path], size: int = PART_BYTES, zone: str = "") -> list[Part]:
    return split(discover([str(path) for path in inputs], [("*", zone)] if zone else ()).files, size)


def joined(rows: Iterable[Row]) -> dict[tuple[Any, ...], Any]:
    """Rows by what they are about; the counts of one signature, subject and source as one."""
    by_key: dict[tuple[Any, ...], Any] = {}
    hits: dict[tuple[Any, ...], list[HitRow]] = {}
    for row in rows:
        if row.analysis != HIT:
            by_key.setdefault((row.series, row.analysis, row.key, row.at_us, row.seq), []).append(row.value)
            continue
        run = list(hits_of(row))
        assert (row.key, row.at_us) == (run[0].key, run[0].first_us)
        assert run == sorted(run, key=lambda item: (item.key, item.first_us))
        for item in run:
            hit = item.row()
            assert item.first_us == (hit.minutes[0].first_us if hit.minutes else 0)
            assert item.count == hit.count
            key = (row.series, item.key, row.seq, hit.signature, hit.source, hit.subject)
            hits.setdefault(key, []).append(hit)
    by_key.update((key, _one(rows)) for key, rows in hits.items())
    return by_key


def _one(hits: list[HitRow]) -> tuple[Any, ...]:
    measures: dict[str, tuple[int, int, int]] = {}
    for hit in hits:
        for field, count, low, high in hit.measures:
            known = measures.get(field, (0, low, high))
            measures[field] = (known[0] + count, min(known[1], low), max(known[2], high))
    firsts = sorted((line for hit in hits for line in hit.firsts), key=_rank)[:EXEMPLARS]
    last = max((latest for hit in hits if (latest := hit.latest) is not None), key=_rank, default=None)
    assert all(hit.last is None or hit.last not in hit.firsts for hit in hits)
    spans = (span for hit in hits for span in hit.minutes.spans())
    return sum(hit.count for hit in hits), Histogram.joined(spans, MINUTE_US), measures, firsts, last


def _rank(line: KeptLine) -> tuple[int, int]:
    return (_UNDATED if line.us is None else line.us, line.offset)


def differences(first: Scanner, second: Scanner, parts: Iterable[Part]) -> Iterator[str]:
    """Where two scanners disagree about parts."""
    for part in parts:
        ours, theirs = joined(first.rows(part)), joined(second.rows(part))
        for key in sorted(ours.keys() | theirs.keys(), key=repr):
            if ours.get(key) != theirs.get(key):
                yield f"{part.name} {key}:\n  {ours.get(key)}\n  {theirs.get(key)}"
