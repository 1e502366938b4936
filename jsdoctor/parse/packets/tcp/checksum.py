"""TCP checksums (RFC 9293, section 3.1): computed only where a packet would change the state of a connection.

A host that leaves checksums to its network card is captured with the sum of the pseudo header alone; that is no damage.
"""

from __future__ import annotations

from enum import IntEnum

from jsdoctor.parse.packets.keys import addresses
from jsdoctor.parse.packets.segment import Segment

_WORD = 0xFFFF
_TCP = 6
_CHECKSUM_AT = 16


class Checksum(IntEnum):
    """What a checksum says. `UNKNOWN`: not all of the packet was captured. `PENDING`: left to the network card."""

    UNKNOWN = 0
    GOOD = 1
    PENDING = 2
    BAD = 3


def checksum(segment: Segment, block: bytes) -> Checksum:
    """The verdict on one packet."""
    key, options_at, payload_at, captured, length = segment[0], segment[5], segment[6], segment[7], segment[8]
    begins, ends = options_at - 20, payload_at + captured
    if captured < length or ends > len(block) or payload_at < options_at:
        return Checksum.UNKNOWN
    size = ends - begins
    ends_of_pair = addresses(key)[:-4]
    pseudo = (int.from_bytes(ends_of_pair, "big") + _TCP + size) % _WORD
    body = block[begins:ends]
    if size & 1:
        body += b"\x00"
    if (int.from_bytes(body, "big") + pseudo) % _WORD == 0:
        return Checksum.GOOD
    stated = int.from_bytes(body[_CHECKSUM_AT : _CHECKSUM_AT + 2], "big")
    return Checksum.PENDING if stated == 0 or (stated - pseudo) % _WORD == 0 else Checksum.BAD
