"""S2, the compression of stream backups: frames and blocks of Snappy with two extensions (klauspost/compress/s2).

Decoded here because no library in reach reads it: Snappy's own does not know the repeated offsets that S2 adds. The
checksums of frames (CRC-32C) are not looked at: whoever verifies a backup compares every message in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from jsdoctor.remedy.backup.problem import BackupProblem

_COMPRESSED, _PLAIN, _FIRST_SKIPPABLE, _IDENTIFIER = 0x00, 0x01, 0x80, 0xFF
_NAMES = (b"S2sTwO", b"sNaPpY")
_CHECKSUM = 4
_MAX_BLOCK = 4 << 20
_DAMAGED = "the backup is damaged"
_AGAIN = "take a new backup"


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """The blocks of a framed stream, decompressed, 4 MiB each at most. Raises BackupProblem where it is damaged."""
    while head := file.read(4):
        size = int.from_bytes(head[1:], "little")
        body = file.read(size)
        if len(head) < 4 or len(body) < size:
            raise BackupProblem("the backup is cut off", _AGAIN)
        kind = head[0]
        if kind == _IDENTIFIER:
            if body not in _NAMES:
                raise BackupProblem("this is no S2 stream", "name a file that nats stream backup wrote")
        elif kind == _PLAIN:
            yield body[_CHECKSUM:]
        elif kind == _COMPRESSED:
            yield _unpacked(body)
        elif kind < _FIRST_SKIPPABLE:
            raise BackupProblem(f"{_DAMAGED}: a frame of unknown kind {kind}", _AGAIN)


def _unpacked(body: bytes) -> bytes:
    """One frame's block: its length as a varint, then the block itself."""
    at, size, shift = _CHECKSUM, 0, 0
    try:
        while True:
            byte = body[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if size > _MAX_BLOCK:
            raise BackupProblem(f"{_DAMAGED}: a block of {size} bytes", _AGAIN)
        block = _block(body, at, size)
    except IndexError:
        raise BackupProblem(_DAMAGED, _AGAIN) from None
    if len(block) != size:
        raise BackupProblem(f"{_DAMAGED}: a block of {len(block)} bytes where {size} were announced", _AGAIN)
    return bytes(block)


def _block(src: bytes, s: int, size: int) -> bytearray:
    """Literals and copies of what was written before (s2 `decode_other.go` s2Decode). Raises IndexError."""
    out = bytearray()
    end, offset = len(src), 0
    while s < end and len(out) <= size:
        tag = src[s]
        kind = tag & 3
        if kind == 0:  # literal
            length = tag >> 2
            s += 1
            if length >= 60:
                wide = length - 59
                length = int.from_bytes(src[s : s + wide], "little")
                s += wide
            length += 1
            out += src[s : s + length]
            s += length
            continue
        if kind == 1:
            offset, length, s = _short(src, s, offset)
        else:
            wide = 2 if kind == 2 else 4
            length = 1 + (tag >> 2)
            offset = int.from_bytes(src[s + 1 : s + 1 + wide], "little")
            s += 1 + wide
        start = len(out) - offset
        if offset <= 0 or start < 0:
            raise IndexError
        if offset >= length:
            out += out[start : start + length]
        else:
            out += (out[start:] * (length // offset + 1))[:length]
    return out


def _short(src: bytes, s: int, last: int) -> tuple[int, int, int]:
    """A copy of two bytes, or with offset 0 of the last offset again and up to 16 MiB long: offset, length, next."""
    tag = src[s]
    length = tag >> 2 & 7
    offset = (tag & 0xE0) << 3 | src[s + 1]
    s += 2
    if offset:
        return offset, length + 4, s
    if length < 5:
        return last, length + 4, s
    wide = length - 4
    base = {1: 4, 2: 1 << 8, 3: 1 << 16}[wide]
    return last, int.from_bytes(src[s : s + wide], "little") + base + 4, s + wide
