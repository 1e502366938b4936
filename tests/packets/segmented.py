"""What a network card does to large segments (TSO): a capture cut into packets of the network's size, some dropped."""

import struct
from collections.abc import Callable
from pathlib import Path

_HEADER, _RECORD, _IP = 24, 16, 14
_GAP_NS = 200


def segmented(content: bytes, size: int, dropped: Callable[[int], bool] = lambda _: False) -> tuple[bytes, int]:
    """The capture with no TCP payload above `size`; `dropped` decides by the number of the packet that was cut.

    Also returns how many packets were dropped. Ids count on within a segment, times by 200 ns, as a card does it.
    """
    unit = 1 if content[:4] == b"\x4d\x3c\xb2\xa1" else 1000
    written, at, number, gone = [content[:_HEADER]], _HEADER, 0, 0
    while at + _RECORD <= len(content):
        seconds, fraction, captured, length = struct.unpack_from("<IIII", content, at)
        frame = content[at + _RECORD : at + _RECORD + captured]
        at += _RECORD + captured
        payload_at = _payload(frame)
        if payload_at is None or len(frame) - payload_at <= size:
            written.append(struct.pack("<IIII", seconds, fraction, captured, length) + frame)
            continue
        for place in range(payload_at, len(frame), size):
            number += 1
            if dropped(number):
                gone += 1
                continue
            piece = _piece(frame, payload_at, place, size)
            later = fraction + (place - payload_at) // size * _GAP_NS // unit
            written.append(struct.pack("<IIII", seconds, later, len(piece), len(piece)) + piece)
    return b"".join(written), gone


def _payload(frame: bytes) -> int | None:
    """Where the payload of TCP in IPv4 begins."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return None
    return _IP + 20 + (frame[_IP + 32] >> 4) * 4


def _piece(frame: bytes, payload_at: int, place: int, size: int) -> bytes:
    payload = frame[place : place + size]
    header = bytearray(frame[:payload_at])
    moved = place - payload_at
    struct.pack_into(">H", header, _IP + 2, payload_at - _IP + len(payload))
    (ip_id,) = struct.unpack_from(">H", header, _IP + 4)
    struct.pack_into(">H", header, _IP + 4, (ip_id + moved // size) & 0xFFFF)
    (seq,) = struct.unpack_from(">I", header, _IP + 24)
    struct.pack_into(">I", header, _IP + 24, (seq + moved) & 0xFFFFFFFF)
    header[_IP + 36 : _IP + 38] = b"\x00\x00"
    return bytes(header) + payload


def write(path: Path, content: bytes) -> Path:
    """The file."""
    path.write_bytes(content)
    return path
