"""The same capture with other sequence numbers, so that those of both directions wrap in the middle of what is sent."""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from jsdoctor.packets.capture_file import PcapReader
from jsdoctor.packets.link import NoSegment, decode_ip
from jsdoctor.packets.segment import MASK, SYN, Segment, reverse

_NUMBER = Struct(">I")
_SACK = 5


def wrapped(capture: Path, to: Path) -> None:
    """Write it. The handshakes must be in the capture; checksums are left as they are."""
    content = bytearray(capture.read_bytes())
    segments = list(_segments(bytes(content)))
    begins = {segment[0]: segment[1] for _, segment in segments if segment[3] & SYN}
    sent = dict.fromkeys(begins, 0)
    for _, segment in segments:
        sent[segment[0]] = max(sent[segment[0]], segment[1] + segment[8] - begins[segment[0]] & MASK)
    shift = {key: MASK + 1 - begins[key] - sent[key] // 2 for key in begins}
    for at, segment in segments:
        key, seq, ack = segment[:3]
        back = shift[reverse(key)]
        _NUMBER.pack_into(content, at + 4, seq + shift[key] & MASK)
        _NUMBER.pack_into(content, at + 8, ack + back & MASK)
        for edge in _edges(content, segment[5], segment[6]):
            _NUMBER.pack_into(content, edge, _NUMBER.unpack_from(content, edge)[0] + back & MASK)
    to.write_bytes(content)


def _segments(content: bytes) -> Iterator[tuple[int, Segment]]:
    """Every TCP segment of Ethernet frames, and where its header begins."""
    reader = PcapReader()
    reader.feed(content)
    for _, start, end, length, _ in reader.records():
        segment = decode_ip(content, start + 14, end, start + length)
        if not isinstance(segment, NoSegment):
            yield segment[5] - 20, segment


def _edges(content: bytearray, at: int, end: int) -> Iterator[int]:
    """Where the numbers of SACK blocks are."""
    while at < end and content[at]:
        if content[at] == 1:
            at += 1
            continue
        if content[at] == _SACK:
            yield from range(at + 2, at + content[at + 1], 4)
        at += content[at + 1]
