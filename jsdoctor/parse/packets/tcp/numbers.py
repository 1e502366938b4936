"""Sequence numbers: 32 bits that wrap (RFC 9293, section 3.4)."""

from __future__ import annotations

MASK = 0xFFFF_FFFF
HALF = 0x8000_0000


def ahead(later: int, earlier: int) -> int:
    """By how much the first is ahead of the second: negative when it is behind."""
    return (later - earlier + HALF & MASK) - HALF


def ahead16(later: int, earlier: int) -> int:
    """The same for the 16 bits of an IPv4 id."""
    return (later - earlier + 0x8000 & 0xFFFF) - 0x8000
