"""The state directory of `audit --state`: opened, compared, read and written by the scans, and committed at the end."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from jsdoctor.collect.logs.part import scan_part
from jsdoctor.collect.logs.split import PART_BYTES
from jsdoctor.collect.logs.state.index import (
    INDEX,
    SavedFile,
    SavedRange,
    StateIndex,
    read_index,
    sample,
    scan_id,
    write_index,
)
from jsdoctor.collect.logs.state.plan import FilePlan, planned
from jsdoctor.collect.logs.state.rows_file import is_dated, of_part, part_rows, read_rows, write_rows
from jsdoctor.collect.logs.store import open_stored
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.log_scan import Part, Row, ScanSettings

try:
    import fcntl
except ImportError:  # Windows: two audits at the same time are not kept apart there
    fcntl = None  # type: ignore[assignment]

_LOCK, _ROWS = "lock", ".rows"
_Place = tuple[str, int, int]
"""Name of a file, start and end of a range: what stays the same where a path is made absolute."""


@dataclass(frozen=True, slots=True)
class StateScan:
    """Scans a part, or gives the rows that an earlier audit kept of it. Pickles, and runs in any process.

    `saved` has the known ranges, `fresh` the file of rows for each range that is worth keeping. Files of `whole` have
    rows that are true as they are.
    """

    directory: str
    saved: dict[_Place, SavedRange] = field(default_factory=dict)
    fresh: dict[_Place, str] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    def __call__(
        self, settings: ScanSettings, part: Part, progress: Callable[[int], None] | None = None
    ) -> Iterator[Row]:
        """The rows of a part; see `scan_part`."""
        place = (part.name, part.start, part.end)
        known = self.saved.get(place)
        if known is not None and (rows := read_rows(Path(self.directory, known.rows))) is not None:
            if progress is not None:
                progress(part.end - part.start)
            yield from rows if part.name in self.whole else of_part(rows, part, known.name)
            return
        target = known.rows if known else self.fresh.get(place)
        if target is None:
            yield from scan_part(settings, part, progress=progress)
            return
        kept = list(scan_part(settings, part, progress=progress))
        with contextlib.suppress(OSError):  # what is not kept is scanned again the next time
            write_rows(Path(self.directory, target), kept)
        yield from kept


class AuditState:
    """The directory for one run. Raises `UsageProblem` where it cannot be used.

    Until `commit` the index names what it named before, and files that it names stay: a run that is interrupted loses
    only its own work.
    """

    def __init__(self, directory: str, settings: ScanSettings, slot: int = PART_BYTES) -> None:
        self._given, self._directory, self._slot = directory, Path(directory), slot
        self._scan_id = scan_id(settings)
        self._plans: tuple[FilePlan, ...] = ()
        self._open = contextlib.ExitStack()
        self._known: tuple[SavedFile, ...] = ()
        self.renewed = False
        """Whether an earlier state could not be used, because it is of other rules or another release."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as open_:
            index = self._opened(open_)
            self._open = open_.pop_all()
        if index is not None:
            self.renewed = index.scan != self._scan_id
            self._known = () if self.renewed else index.files
        return self

    def _opened(self, open_: contextlib.ExitStack) -> StateIndex | None:
        """Make the directory where there is none, lock it and read its index."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            index = read_index(self._directory)
            if index is None and any(path.name != _LOCK for path in self._directory.iterdir()):
                raise UsageProblem(f"--state {self._given} holds other files", "name a new directory")
            lock = open_.enter_context((self._directory / _LOCK).open("ab"))
            if sys.platform != "win32" and fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageProblem(f"another audit uses --state {self._given}", "wait for it, or name another") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageProblem(f"--state {self._given} cannot be used: {reason}", "choose another place") from error
        except (ValueError, msgspec.MsgspecError) as error:
            raise UsageProblem(
                f"the index of --state {self._given} is damaged or of another release: {error}", "name a new directory"
            ) from error
        return index

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def plan(self, files: Sequence[Part]) -> list[Part]:
        """The parts to scan, known ones with no weight: their rows are read."""
        self._plans = tuple(planned(files, self._known, self._slot))
        return [
            msgspec.structs.replace(piece.part, weight=0) if piece.saved else piece.part
            for plan in self._plans
            for piece in plan.pieces
        ]

    @property
    def known_bytes(self) -> int:
        """Stored bytes that need not be read again."""
        pieces = (piece for plan in self._plans for piece in plan.pieces if piece.saved)
        return sum(piece.part.end - piece.part.start for piece in pieces)

    @property
    def scan(self) -> StateScan:
        """What scans the parts of the plan."""
        pieces = [(_place(piece.part), piece) for plan in self._plans for piece in plan.pieces]
        return StateScan(
            str(self._directory.absolute()),
            {place: piece.saved for place, piece in pieces if piece.saved},
            {place: self._rows_name(piece.part) for place, piece in pieces if piece.keep and not piece.saved},
            frozenset(plan.part.name for plan in self._plans if plan.whole),
        )

    def commit(self) -> None:
        """Keep what was scanned. Raises `UsageProblem` where the directory cannot be written."""
        try:
            files = [saved for plan in self._plans if (saved := self._saved(plan)) is not None]
            write_index(self._directory, self._scan_id, files)
            named = {candidate.rows for file in files for candidate in file.ranges}
            for path in self._directory.iterdir():
                if path.name not in {INDEX, _LOCK} and path.name not in named:
                    path.unlink()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageProblem(f"--state {self._given} cannot be written: {reason}", "free space there") from error

    def _saved(self, plan: FilePlan) -> SavedFile | None:
        ranges = []
        for piece in plan.pieces:
            saved = piece.saved or self._fresh(plan, piece.part) if piece.keep else None
            if saved is None:
                break
            ranges.append(saved)
        return SavedFile(plan.part, plan.inode, plan.head, plan.whole, tuple(ranges)) if ranges else None

    def _fresh(self, plan: FilePlan, part: Part) -> SavedRange | None:
        """A range that this run has scanned; None where it is not to be known again."""
        name = self._rows_name(part)
        rows = read_rows(self._directory / name)
        scanned = part_rows(rows or ())
        if not scanned or any(row.problem or not (plan.whole or is_dated(row)) for row in scanned):
            return None
        with contextlib.suppress(OSError), open_stored(part.path) as stream:
            return SavedRange(part.start, part.end, sample(stream, part.end), name, part.name)
        return None

    def _rows_name(self, part: Part) -> str:
        """A name that no other content has: an index that still holds the former one stays true."""
        text = f"{self._scan_id}\n{part.path}\n{part.start}\n{part.end}\n{part.size}\n{part.mtime_us}"
        return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest() + _ROWS


def _place(part: Part) -> _Place:
    return (part.name, part.start, part.end)
