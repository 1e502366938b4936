"""The true label of every packet of a capture of the lab, from what the forwarder did and in which order."""

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path

from jsdoctor.model.packets import Label
from jsdoctor.packets.capture_file import PcapReader
from jsdoctor.packets.link import NoSegment, decode_ip
from jsdoctor.packets.segment import HALF, MASK, SYN, ahead
from jsdoctor.packets.tcp.acks import merged
from tests.lab.plan import TO_CLIENT, TO_SERVER, Passed, Report


@dataclass(slots=True)
class Truth:
    """By direction: number of the packet in the file, and its label. `in_order` are data segments without one.

    `hidden` were sent again after a loss, and nothing came behind them that would show it: no capture can tell.
    """

    labels: dict[str, dict[int, Label]] = field(default_factory=lambda: {TO_SERVER: {}, TO_CLIENT: {}})
    in_order: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Data:
    """What a packet is in its connection: offsets without wrapping. `end` == `start`: no payload."""

    connection: bytes
    start: int
    end: int


@dataclass(slots=True)
class _Stream:
    """What was seen of one direction of a connection, at one place."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    highest: int = 0
    highest_data: int = 0

    def has(self, start: int, end: int) -> bool:
        return any(left <= start and end <= right for left, right in self.spans)

    def add(self, data: _Data) -> None:
        self.highest = max(self.highest, data.end)
        if data.end > data.start:
            self.highest_data = max(self.highest_data, data.end)
            self.spans = merged((*self.spans, (data.start, data.end)))


def truth(report: Report, capture: Path, *, at_server: bool) -> Truth:
    """The truth about the capture at the server's end, or at the client's."""
    judged = Truth()
    arriving, leaving = (TO_SERVER, TO_CLIENT) if at_server else (TO_CLIENT, TO_SERVER)
    unwrap = _Unwrapped()
    sent = {
        direction: [unwrap(direction, packet) for packet in report.arrived[direction]] for direction in report.arrived
    }
    resent = {direction: _resent(packets) for direction, packets in sent.items()}
    passed: dict[bytes, deque[Passed]] = defaultdict(deque)
    for passage in report.passed:
        if passage.direction == arriving and passage.number >= 0:
            passed[passage.packet].append(passage)
    outgoing: dict[bytes, deque[int]] = defaultdict(deque)
    for number, packet in enumerate(report.arrived.get(leaving, [])):
        outgoing[packet].append(number)
    streams: dict[bytes, _Stream] = {}
    for frame, packet in _packets(capture):
        if passed[packet]:
            passage = passed[packet].popleft()
            data = sent[arriving][passage.number]
            stream = streams.setdefault(data.connection, _Stream())
            _judge(judged, frame, passage, data, stream, again=passage.number in resent[arriving])
        elif outgoing[packet]:
            number = outgoing[packet].popleft()
            if number in resent[leaving]:
                judged.labels[leaving][frame] = Label.SENT_AGAIN
            elif sent[leaving][number].end > sent[leaving][number].start:
                judged.in_order[leaving] += 1
        else:
            raise AssertionError(f"packet {frame} of {capture.name} is not what the forwarder saw")
    return judged


def _judge(judged: Truth, frame: int, passage: Passed, data: _Data, stream: _Stream, *, again: bool) -> None:
    """The label of one packet that arrived; `again`: its sender had sent these bytes before."""
    labels = judged.labels[passage.direction]
    if data.end == data.start:
        if not passage.copy:
            stream.highest = max(stream.highest, data.start)
        return
    seen = stream.has(data.start, data.end)
    if passage.copy:
        labels[frame] = Label.DUPLICATE
    elif again and seen:
        labels[frame] = Label.SENT_AGAIN
    elif again and data.start < stream.highest:
        labels[frame] = Label.LOST_UPSTREAM
    elif again:
        judged.hidden[passage.direction] += 1
    elif seen:
        labels[frame] = Label.REORDERED_NEEDLESS
    elif data.start < stream.highest_data:
        labels[frame] = Label.REORDERED
    elif data.start < stream.highest:
        labels[frame] = Label.BEHIND_ACK
    else:
        judged.in_order[passage.direction] += 1
    stream.add(data)


def _resent(packets: list[_Data]) -> set[int]:
    """Which packets carry bytes that had been sent before."""
    highest: dict[bytes, int] = {}
    resent = set()
    for number, data in enumerate(packets):
        if data.end > data.start and data.start < highest.get(data.connection, data.start):
            resent.add(number)
        highest[data.connection] = max(highest.get(data.connection, data.end), data.end)
    return resent


class _Unwrapped:
    """Sequence numbers without wrapping, by direction and connection."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, bytes], int] = {}

    def __call__(self, direction: str, packet: bytes) -> _Data:
        segment = decode_ip(packet, 0, len(packet), len(packet))
        assert not isinstance(segment, NoSegment)
        key, seq, _, flags, length = *segment[:4], segment[8]
        last = self._last.get((direction, key), seq + HALF * 4)
        start = last + ahead(seq, last & MASK)
        self._last[direction, key] = max(last, start + length)
        if flags & SYN:
            start += 1
        return _Data(key, start, start + length)


def _packets(capture: Path) -> list[tuple[int, bytes]]:
    """Number and IP packet of every frame of a capture."""
    reader = PcapReader()
    content = reader.feed(capture.read_bytes())
    return [(number, content[start + 14 : end]) for number, (_, start, end, _, _) in enumerate(reader.records(), 1)]
