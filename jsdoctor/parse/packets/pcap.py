"""The classic capture file: one link type (draft-ietf-opsawg-pcap), and the form with longer records.

Patched versions of libpcap, and monitoring agents of today, write eight more bytes for each packet: interface index,
protocol and packet type.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from jsdoctor.parse.packets.blocks import BlockReader
from jsdoctor.parse.packets.container import MAX_PACKET, Damaged, Interface, Record

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
_LONGER = frozenset((b"\x34\xcd\xb2\xa1", b"\xa1\xb2\xcd\x34"))


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
        magic = buffer[:4]
        order, self._unit_ns = MAGICS[magic]
        self._record = _LONGER_RECORD if magic in _LONGER else _RECORD
        self._unpack = Struct(order + "IIII").unpack_from
        _, _, snaplen, link = self._unpack(buffer, 8)
        self.interfaces.append(Interface(link & 0xFFFF, snaplen if snaplen < MAX_PACKET else 0))
