"""The compiled scan (`native/`, the package jsdoctor-native), where it is installed and fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from jsdoctor.model.log import SUBJECT_FIELDS
from jsdoctor.model.rule import LineOrigin, Signature
from jsdoctor.parse.compiled_core import CompiledCore
from jsdoctor.parse.logs.lines.builtin import BEGINNINGS, FATAL, MARKED
from jsdoctor.parse.logs.lines.matcher import Matcher
from jsdoctor.parse.logs.lines.sections import STARTS

_Jumps = Sequence[tuple[int, int, int]]
Segment = tuple[int, int, int, int, int, int, int, int, int, _Jumps, _Jumps]
"""Process, cut, first time and place, last time and place, lowest and highest time, lines, steps, gaps."""

Description = tuple[str, str, str, list[tuple[str, bool, bool]], list[str], bool, bool]


class ScanHost(Protocol):
    """The calls of the compiled scan while it reads a block."""

    def source_of(self, prefix: bytes, /) -> int:
        """The number of the process that writes with this prefix: nothing, or a process id."""
        ...

    def voice_of(self, prefix: bytes, /) -> int:
        """The number, from 1, of the process that writes with any prefix; 0 if it cannot be identified."""
        ...

    def offset_us(self, quarter: int, /) -> int:
        """How far local time is ahead of UTC in this quarter of an hour, counted from 1970."""
        ...

    def measured(self, value: str, /) -> int | None:
        """The number that a captured value is."""
        ...

    def odd(  # noqa: PLR0917  # a call from Rust
        self, begin: int, end: int, stamp: int, us: int, source: int, last: tuple[int, int, int], /
    ) -> tuple[bool, bool, int]:
        """Process a line of the block whose turn in the order has come.

        `stamp` is -1 where there is none, `source` where the line is not a plain one; `last` is the line counted last:
        its offset in the file, its time, its source. Returns whether `source_of` must be called again, whether the
        line counts for no clock, and how many cuts there are so far.
        """
        ...


class NativeScanner(Protocol):
    """The scan of one part. `lines`, `long_lines`, `numbers` and `segments` are of the last block."""

    @property
    def lines(self) -> int:
        """Its lines."""
        ...

    @property
    def long_lines(self) -> int:
        """Those of which not all was looked at."""
        ...

    @property
    def full(self) -> bool:
        """Whether it is time to let go of what was counted."""
        ...

    def block(self, block: bytes, base: int, before: int, host: ScanHost, /) -> None:
        """Scan whole lines: `base` is the offset of the first byte, `before` the lines of the part so far."""
        ...

    def numbers(self, starts: Sequence[int], /) -> list[int]:
        """The numbers, from 0, of the lines that start here."""
        ...

    def segments(self) -> list[Segment]:
        """In the order in which they begin."""
        ...

    def runs(self, sources: list[bytes], /) -> list[tuple[str, int, bytes]]:
        """Let go of all counts: key and time of the first hit of each run, and the run; see `hit_runs.hits_of`.

        `sources` are the packed `HitSource`s, by number.
        """
        ...


NativeGroup = tuple[str, list[bytes], int, int]
"""See `hit_groups.HitGroup`; what is found is packed."""


class NativeGroups(Protocol):
    """Brings the hits of runs together; see `hit_groups.HitGroup`."""

    def add(self, start: int, run: bytes, server_of: Callable[[bytes], int], /) -> list[NativeGroup]:
        """Take one more run, of a part that begins at `start`.

        `server_of` gets a packed `HitSource` and gives the number of its server. It is called once for each source:
        what is found has the number of that call.
        """
        ...

    def end(self) -> list[NativeGroup]:
        """Take the last groups, once all runs are there."""
        ...


class _ScanCore(Protocol):
    def Signatures(  # noqa: N802  # a class
        self,
        signatures: list[Description],
        lines: list[bytes],
        beginnings: list[bytes],
        quiet: list[bytes],
        openings: list[bytes],
        /,
    ) -> object: ...

    def Scan(self, signatures: object, zoned: bool, /) -> NativeScanner: ...  # noqa: N802  # a class

    def HitGroups(self, kept: int, /) -> NativeGroups: ...  # noqa: N802  # a class


_core = CompiledCore[_ScanCore]()


def have_native() -> bool:
    """Whether the compiled scan is installed."""
    return _core.found is not None


def native_scanner(matcher: Matcher, zoned: bool) -> NativeScanner:
    """A compiled scan of one part. `zoned`: the zone of its times is known. Only where `have_native`."""
    return _core.required().Scan(_signatures(matcher), zoned)


def hit_groups(kept: int) -> NativeGroups:
    """What brings hits together. `kept`: subjects of a signature that can be kept. Only where `have_native`."""
    return _core.required().HitGroups(kept)


@lru_cache(maxsize=2)
def _signatures(matcher: Matcher) -> object:
    described = [_described(signature) for signature in matcher.ordered() if signature.name != FATAL]
    return _core.required().Signatures(
        described, list(matcher.searched), [*STARTS, *BEGINNINGS], list(matcher.quiet_literals), list(matcher.openings)
    )


def _described(signature: Signature) -> Description:
    fields = [(field, field in SUBJECT_FIELDS, field == "reason") for field in signature.fields]
    server = signature.source is not LineOrigin.CLIENT
    name, levels = signature.name, list(signature.levels)
    return name, signature.contains, signature.pattern, fields, levels, server, name in MARKED
