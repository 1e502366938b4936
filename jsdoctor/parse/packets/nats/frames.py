"""Frames of WebSocket (RFC 6455, section 5.2): headers, masks, and how a frame with NATS in it is recognised."""

from __future__ import annotations

import re
import zlib

CONTINUATION, CONTROL = 0, 8
_OPCODES = frozenset((CONTINUATION, 1, 2, CONTROL, 9, 10))
_FINAL, _COMPRESSED, _RESERVED, _OPCODE = 0x80, 0x40, 0x30, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F
_MAX_LENGTH = 1 << 31
_PROBE = 4096
_FIRST = b"\x02\x42\x82\xc2"
"""How frames begin that carry data: binary, the last of their message or not, compressed or not."""
_VERB = re.compile(
    rb"(?:INFO|CONNECT|PING|PONG|\+OK|-ERR|PUB|HPUB|MSG|HMSG|SUB|UNSUB|LMSG|LS\+|LS-)[ \t\r]", re.IGNORECASE
)


class FrameHeader:
    """The header of a frame that begins at `at`; `payload_at` is behind it. Raises ValueError for what is none."""

    __slots__ = ("compressed", "final", "length", "mask", "opcode", "payload_at")

    def __init__(self, text: bytes, at: int) -> None:
        first, second = text[at], text[at + 1]
        self.opcode, self.final, self.compressed = first & _OPCODE, bool(first & _FINAL), bool(first & _COMPRESSED)
        length, at = second & _LENGTH, at + 2
        control = self.opcode >= CONTROL
        if first & _RESERVED or self.opcode not in _OPCODES or (control and (length > 125 or not self.final)):
            raise ValueError
        if length >= 126:
            size = 2 if length == 126 else 8
            length, at = int.from_bytes(text[at : at + size], "big"), at + size
            if length > _MAX_LENGTH:
                raise ValueError
        self.length = length
        self.mask = text[at : at + 4] if second & _MASKED else b""
        self.payload_at = at + len(self.mask)


def header_size(text: bytes, at: int) -> int:
    """How long the header at `at` is; 2 while that is not known yet."""
    if len(text) < at + 2:
        return 2
    second = text[at + 1]
    return 2 + {126: 2, 127: 8}.get(second & _LENGTH, 0) + (4 if second & _MASKED else 0)


def begins_frame(text: bytes) -> bool:
    """Whether a frame with NATS in it begins here beyond doubt, which captures that begin midway are recognised by."""
    if not text or text[:1] not in _FIRST or len(text) < header_size(text, 0):
        return False
    try:
        header = FrameHeader(text, 0)
    except ValueError:
        return False
    payload = unmasked(text[header.payload_at : header.payload_at + min(header.length, _PROBE)], header.mask, 0)
    if header.compressed:
        try:
            payload = zlib.decompressobj(-zlib.MAX_WBITS).decompress(payload, _PROBE)
        except zlib.error:
            return False
    return _VERB.match(payload) is not None


def unmasked(data: bytes, mask: bytes, at: int) -> bytes:
    """`data` without the mask, of which the byte `at % 4` comes first."""
    if not mask or not data:
        return data
    at %= 4
    pattern = ((mask[at:] + mask[:at]) * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(pattern, "big")).to_bytes(len(data), "big")
