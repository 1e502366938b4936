"""Capture files: the classic one and the next generation, as packets; and what of a file cannot be read.

Patched versions of libpcap, and monitoring agents of today, write eight more bytes for each packet: interface index,
protocol and packet type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Protocol, TypeAlias

import msgspec

Record: TypeAlias = tuple[int, int, int, int, int]
"""One packet: its time in ns since 1970, where it begins and ends in the buffer, its length on the wire, the index of
its interface."""

LATEST_NS = 1 << 62
"""Latest valid time (the year 2116); a later one is damaged."""

MAX_PACKET = 16 << 20
"""Maximum size of a packet in bytes; a record with a larger length is damaged."""


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
    """Packets with an impossible time: they get the time of the packet before."""
    skipped: int
    """Packets that contradict their own file: of an interface that was never described, or longer than their block."""

    def feed(self, block: bytes) -> bytes:
        """Take the next block of the file. Returns the buffer that the offsets of the next records refer to."""

    def records(self) -> Iterator[Record]:
        """The packets that are complete now; to be read to the end before the next block. Raises `Damaged`."""

    def rest(self) -> int:
        """The number of bytes left over at the end of the file: more than 0 when it was cut short."""


class BlockReader:
    """Keeps incomplete bytes, and what the file states of its interfaces. `_read`: the file offset of the buffer."""

    def __init__(self) -> None:
        self.interfaces: list[Interface] = []
        self.kernel_drops: int | None = None
        self.skipped = self.damaged_times = 0
        self._buffer = b""
        self._carry = b""
        self._read = 0

    def feed(self, block: bytes) -> bytes:
        """Take the next block of the file. Returns the buffer that the offsets of the next records refer to."""
        self._buffer = self._carry + block if self._carry else block
        self._carry = b""
        return self._buffer

    def rest(self) -> int:
        """The number of bytes left over at the end of the file."""
        return len(self._carry)


MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x34\xcd\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xcd\x34": (">", 1000),
}
"""Byte order, and nanoseconds in the fraction's unit."""

_HEADER, _RECORD, _LONGER_RECORD = 24, 16, 24
_LONGER_MAGICS = frozenset((b"\x34\xcd\xb2\xa1", b"\xa1\xb2\xcd\x34"))


class PcapReader(BlockReader):
    """Reads blocks of a classic capture file, in memory of one block."""

    format = "pcap"

    def __init__(self) -> None:
        super().__init__()
        self._unpack = Struct("<IIII").unpack_from
        self._unit_ns = 0
        self._record = _RECORD

    def records(self) -> Iterator[Record]:
        """The packets that are complete now; to be read to the end before the next block. Raises `Damaged`."""
        buffer = self._buffer
        at, size = 0, len(buffer)
        if not self._unit_ns:
            if size < _HEADER:
                self._carry = buffer
                return
            self._begin(buffer)
            at = _HEADER
        unpack, unit_ns, record = self._unpack, self._unit_ns, self._record
        last = size - record
        while at <= last:
            seconds, fraction, captured, length = unpack(buffer, at)
            start = at + record
            end = start + captured
            if end > size:
                if captured > MAX_PACKET:
                    raise Damaged(f"damaged at byte {self._read + at}: a packet of {captured} bytes cannot be")
                break
            yield seconds * 1_000_000_000 + fraction * unit_ns, start, end, length, 0
            at = end
        self._carry = buffer[at:]
        self._read += at

    def _begin(self, buffer: bytes) -> None:
        """Read the header of the file."""
        magic = buffer[:4]
        order, self._unit_ns = MAGICS[magic]
        self._record = _LONGER_RECORD if magic in _LONGER_MAGICS else _RECORD
        self._unpack = Struct(order + "IIII").unpack_from
        _, _, snaplen, link = self._unpack(buffer, 8)
        self.interfaces.append(Interface(link & 0xFFFF, snaplen if snaplen < MAX_PACKET else 0))


MAGIC = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _STATISTICS, _PACKET = 0x0A0D0D0A, 1, 2, 3, 5, 6
_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_NAME, _RESOLUTION, _OFFSET = 2, 9, 14
_DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM = 5, 7
_SECOND_NS = 1_000_000_000


class PcapngReader(BlockReader):
    """Reads blocks of a pcapng file, in memory of one block."""

    format = "pcapng"

    def __init__(self) -> None:
        super().__init__()
        self._order = "<"
        self._unpack = Struct("<IIIIIII").unpack_from
        self._pair = Struct("<II").unpack_from
        self._short = Struct("<HH").unpack_from
        self._section_begins = 0
        self._clocks: list[tuple[int, int]] = []
        self._drops: dict[int, int] = {}
        self._last_ns = 0

    def records(self) -> Iterator[Record]:
        """The packets that are complete now; to be read to the end before the next block. Raises `Damaged`."""
        buffer = self._buffer
        at, size = 0, len(buffer)
        while at + 12 <= size:
            kind, length = self._pair(buffer, at)
            if kind == _SECTION:  # the same in both byte orders
                length = self._begin_section(buffer, at)
            if length < 12 or length & 3 or length > MAX_PACKET:
                raise Damaged(f"damaged at byte {self._read + at}: a block of {length} bytes cannot be")
            end = at + length
            if end > size:
                break
            if kind == _PACKET and length >= 32:
                _, _, index, high, low, captured, original = self._unpack(buffer, at)
                record = self._record((at + 28, end - 4), index, high << 32 | low, captured, original)
                if record:
                    yield record
            else:
                yield from self._rare_block(kind, buffer, at, end)
            at = end
        self._carry = buffer[at:]
        self._read += at

    def _record(self, room: tuple[int, int], index: int, ticks: int, captured: int, length: int) -> Record | None:
        start, limit = room
        if index >= len(self._clocks) or start + captured > limit:
            self.skipped += 1
            return None
        per_second, offset_ns = self._clocks[index]
        at_ns = ticks * _SECOND_NS // per_second + offset_ns
        if not 0 <= at_ns < LATEST_NS:
            self.damaged_times += 1
            at_ns = self._last_ns
        self._last_ns = at_ns
        return at_ns, start, start + captured, length, self._section_begins + index

    def _rare_block(self, kind: int, buffer: bytes, at: int, end: int) -> Iterator[Record]:
        """Read a block that is rare; yields its packet if it has one. Blocks of other kinds are skipped."""
        if kind == _INTERFACE and end - at >= 20:
            self._begin_interface(buffer, at + 8, end - 4)
        elif kind == _STATISTICS and end - at >= 24:
            self._note_drops(buffer, at + 8, end - 4)
        elif kind == _SIMPLE_PACKET and end - at >= 16 and self._clocks:
            length = self._pair(buffer, at + 8)[0]
            snaplen = self.interfaces[self._section_begins].snaplen or length
            captured = min(length, snaplen, end - 4 - at - 12)
            yield self._last_ns, at + 12, at + 12 + captured, length, self._section_begins
        elif kind == _OLD_PACKET and end - at >= 32:
            index = self._short(buffer, at + 8)[0]
            _, _, _, high, low, captured, length = self._unpack(buffer, at)
            record = self._record((at + 28, end - 4), index, high << 32 | low, captured, length)
            if record:
                yield record

    def _begin_section(self, buffer: bytes, at: int) -> int:
        """Begin a section, which has its own byte order and interfaces. Returns the length of its block."""
        order = _ORDERS.get(buffer[at + 8 : at + 12])
        if order is None:
            raise Damaged(f"damaged at byte {self._read + at}: a section of unknown byte order")
        self._order = order
        self._unpack = Struct(order + "IIIIIII").unpack_from
        self._pair = Struct(order + "II").unpack_from
        self._short = Struct(order + "HH").unpack_from
        length: int = self._pair(buffer, at)[1]
        if at + length <= len(buffer):
            self._section_begins = len(self.interfaces)
            self._clocks = []
        return length

    def _begin_interface(self, buffer: bytes, at: int, end: int) -> None:
        link = self._short(buffer, at)[0]
        snaplen = self._pair(buffer, at)[1]
        options = self._options(buffer, at + 8, end)
        offset = options.get(_OFFSET, b"")
        seconds = self._number(offset, signed=True)
        name = options.get(_NAME, b"").rstrip(b"\x00").decode(errors="replace")
        self.interfaces.append(Interface(link, snaplen if snaplen < MAX_PACKET else 0, name))
        self._clocks.append((_ticks_per_second(options.get(_RESOLUTION, b"")), seconds * _SECOND_NS))

    def _note_drops(self, buffer: bytes, at: int, end: int) -> None:
        """Keep the counters of an interface: they only grow, so the last ones count."""
        options = self._options(buffer, at + 12, end)
        drop_counts = [options[code] for code in (_DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM) if code in options]
        if drop_counts:
            index = self._section_begins + self._pair(buffer, at)[0]
            self._drops[index] = sum(self._number(value) for value in drop_counts)
            self.kernel_drops = sum(self._drops.values())

    def _number(self, value: bytes, *, signed: bool = False) -> int:
        return int.from_bytes(value, "little" if self._order == "<" else "big", signed=signed)

    def _options(self, buffer: bytes, at: int, end: int) -> Mapping[int, bytes]:
        options: dict[int, bytes] = {}
        while at + 4 <= end:
            code, size = self._short(buffer, at)
            if code == 0 or at + 4 + size > end:
                break
            options[code] = buffer[at + 4 : at + 4 + size]
            at += 4 + (size + 3 & ~3)
        return options


def _ticks_per_second(option: bytes) -> int:
    """The resolution of times: a power of ten, or of two when the highest bit is set. Default: microseconds."""
    exponent = option[0] if option else 6
    return int(2 ** (exponent & 0x7F) if exponent & 0x80 else 10**exponent)
