"""Compares files with the state of the last audit: which ranges are known, and which are to be scanned."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import msgspec

from jsdoctor.collect.logs.split import PART_BYTES
from jsdoctor.collect.logs.state.index import SAMPLE_BYTES, SavedFile, SavedRange, inode_of, read_exactly, sample
from jsdoctor.collect.logs.store import STDIN, open_stored
from jsdoctor.model.log_scan import Part
from jsdoctor.parse.logs.lines.stamp import year_of
from jsdoctor.parse.logs.paste.ordinary import HEAD_BYTES, REWRITTEN_BYTES, is_ordinary

MAX_RANGES = 16
"""Maximum number of ranges in one slot; above it, the slot is scanned again, so that files of rows do not pile up."""

_LAST_LINE = 64 * 1024
"""The last line of a file must begin within this many bytes of its end, or all of the file is scanned again."""


@dataclass(frozen=True, slots=True)
class PlannedRange:
    """A range of a file. `saved`: its rows are known. `keep`: they are worth saving."""

    part: Part
    saved: SavedRange | None = None
    keep: bool = True


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The pieces of one file, in order, and how it is known the next time."""

    part: Part
    pieces: tuple[PlannedRange, ...]
    inode: str = ""
    head: str = ""
    whole: bool = False


def planned(files: Iterable[Part], known: Sequence[SavedFile], slot: int = PART_BYTES) -> Iterator[FilePlan]:
    """The plan of each file. A file that cannot be opened is one piece, whose scan reports the error."""
    by_path = {file.part.path: file for file in known}
    by_inode = {file.inode: file for file in known if file.inode}
    for part in files:
        inode = inode_of(part.path)
        candidates = [file for file in (by_path.get(part.path), by_inode.get(inode)) if file is not None]
        yield _planned(part, inode, candidates, slot)


def _planned(part: Part, inode: str, candidates: Sequence[SavedFile], slot: int) -> FilePlan:
    if part.problem or not part.size or part.name == STDIN:
        return FilePlan(part, (PlannedRange(part, keep=False),))
    try:
        with open_stored(part.path) as stream:
            head = read_exactly(stream, HEAD_BYTES)
            grows = not part.codec and (is_ordinary(head) or part.size > REWRITTEN_BYTES)
            if grows and (cut := _last_line(stream, part.size)):
                return replace(_ranges(part, candidates, stream, cut, slot), inode=inode)
    except OSError:
        return FilePlan(part, (PlannedRange(part, keep=False),))  # the scan reports the error
    return _whole(part, inode, head, candidates)


def _whole(part: Part, inode: str, head: bytes, candidates: Sequence[SavedFile]) -> FilePlan:
    digest = hashlib.blake2b(head, digest_size=16).hexdigest()
    same = next((f for f in candidates if f.whole and (f.part, f.inode, f.head) == (part, inode, digest)), None)
    saved = same.ranges[0] if same else None
    return FilePlan(part, (PlannedRange(part, saved),), inode, digest, whole=True)


def _ranges(part: Part, candidates: Sequence[SavedFile], stream: BinaryIO, cut: int, slot: int) -> FilePlan:
    """The known ranges, what follows them up to the last line in pieces of a slot at most, and the last line.

    The last line is scanned each time: it may not be complete yet, and the end of a file counts for what the file is.
    """
    kept: list[SavedRange] = []
    for file in candidates:
        if not file.whole and _same_reading(file.part, part) and file.ranges:
            head = sample(stream, min(file.ranges[0].end, SAMPLE_BYTES))
            kept = list(_intact(file.ranges, stream, cut)) if head == file.head else []
            if kept:
                break
    if len(kept) > MAX_RANGES and kept[-MAX_RANGES].start // slot == kept[-1].start // slot:
        first = (kept[-1].start // slot) * slot
        kept = [range_ for range_ in kept if range_.end <= first]
    pieces = [PlannedRange(_piece(part, range_.start, range_.end), range_) for range_ in kept]
    at = kept[-1].end if kept else 0
    while at < cut:
        end = min(cut, (at // slot + 1) * slot)
        pieces.append(PlannedRange(_piece(part, at, end)))
        at = end
    pieces.append(PlannedRange(_piece(part, cut, part.size), keep=False))
    return FilePlan(part, tuple(pieces), head=sample(stream, min(pieces[0].part.end, SAMPLE_BYTES)))


def _same_reading(before: Part, now: Part) -> bool:
    """Whether a line means the same in both: the zone, the server's name, and the year of times without one.

    A file that was written to and has the same size as before was changed in place.
    """
    if before.size == now.size and before.mtime_us != now.mtime_us:
        return False
    return (before.zone, before.server, year_of(before.mtime_us)) == (now.zone, now.server, year_of(now.mtime_us))


def _intact(ranges: Sequence[SavedRange], stream: BinaryIO, cut: int) -> Iterator[SavedRange]:
    """The ranges from the first on whose bytes are still there."""
    at = 0
    for range_ in ranges:
        if range_.start != at or range_.end > cut or sample(stream, range_.end) != range_.sample:
            return
        at = range_.end
        yield range_


def _last_line(stream: BinaryIO, size: int) -> int:
    """Where the last line begins, whether it has an end or not; 0 where that is not near the end of the file."""
    begin = max(0, size - _LAST_LINE)
    stream.seek(begin)
    tail = read_exactly(stream, size - begin)
    start = tail[:-1].rfind(b"\n") + 1
    return begin + start if start else 0


def _piece(part: Part, start: int, end: int) -> Part:
    return msgspec.structs.replace(part, start=start, end=end, weight=end - start)
