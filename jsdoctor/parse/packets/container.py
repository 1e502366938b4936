"""What the readers of capture files have in common: interfaces, records, and mistakes of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias

import msgspec

Record: TypeAlias = tuple[int, int, int, int, int]
"""One packet: its time in ns since 1970, where it begins and ends in the buffer, its length on the wire, the index of
its interface."""

LATEST_NS = 1 << 62
"""No capture is younger (the year 2116); a time beyond is damage, and does not fit the evidence."""

MAX_PACKET = 16 << 20
"""No packet is larger, in bytes; a record with a larger length is damaged."""


class Damaged(Exception):  # noqa: N818  # it concerns the file, not the program
    """A capture that cannot be read on. The message says where and why; what came before counts."""


class Foreign(Exception):  # noqa: N818  # it concerns the file, not the program
    """Not a capture of a format that is read here. The message says what the file begins with."""


class Interface(msgspec.Struct, frozen=True, gc=False):
    """Where packets were captured: link type, snaplen (0: none given), name if the file has it."""

    link: int
    snaplen: int = 0
    name: str = ""


class Reader(Protocol):
    """Blocks of a file in, records out."""

    format: str
    interfaces: list[Interface]
    kernel_drops: int | None
    damaged_times: int
    """Packets whose time cannot be: they are taken to be of the time of the packet before."""
    skipped: int
    """Packets that contradict their own file: of an interface that was never described, or longer than their block."""

    def feed(self, block: bytes) -> bytes:
        """Take in the next block of the file; what the offsets of the records that are complete now refer to."""

    def records(self) -> Iterator[Record]:
        """The packets that are complete now; to be read to the end before the next block. Raises `Damaged`."""

    def rest(self) -> int:
        """How many bytes were left over at the end of the file: more than 0 when it was cut short."""
