"""The whole way of one capture: blocks of bytes or single packets in, evidence out; memory grows with connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from jsdoctor.model.packets import Capture, CaptureClockStep, TcpConnection
from jsdoctor.packets.capture_file import (
    LATEST_NS,
    MAGIC,
    MAGICS,
    Damaged,
    Foreign,
    Interface,
    PcapngReader,
    PcapReader,
    Reader,
)
from jsdoctor.packets.link import DECODERS, LINK_NAMES, Decoder, NoSegment, Peel, decoder
from jsdoctor.packets.pairs import PacketIndex
from jsdoctor.packets.segment import SYN, CapturedPacket, Segment, StreamObserver, ahead
from jsdoctor.packets.tcp.connections import ConnectionTable
from jsdoctor.packets.tcp.follow import follow
from jsdoctor.packets.tcp.judge import measured_tick
from jsdoctor.packets.tcp.state import MILLISECOND, Noticed, State

BLOCK = 1 << 16
"""Best number of bytes of a file to feed at once: larger allocations get fresh pages from the kernel."""

_FORGET_EVERY = 1 << 16
_MAGIC_SIZE = 4


class Analyzed(msgspec.Struct, frozen=True):
    """What one capture showed."""

    capture: Capture
    connections: tuple[TcpConnection, ...]


def reader_of(head: bytes) -> Reader:
    """The reader for a file that begins so (4 bytes are enough). Raises `Foreign`."""
    if head[:4] in MAGICS:
        return PcapReader()
    if head[:4] == MAGIC:
        return PcapngReader()
    raise Foreign(f"it begins with {head[:4].hex(' ') or 'nothing'}: neither pcap nor pcapng")


class Analysis:
    """One capture. `index` is that of the capture among all; `observer` reads along the bytes of connections.

    Pass either the blocks of a file (`feed`) or packets one by one (`packet`), then call `finish` once. `noticed` is
    called with every label; `link_offset` covers link types that are not known here; `sightings` remembers packets.
    """

    def __init__(
        self,
        index: int,
        name: str,
        *,
        observer: StreamObserver | None = None,
        noticed: Noticed | None = None,
        link_offset: Callable[[int], Peel | None] | None = None,
        sightings: PacketIndex | None = None,
    ) -> None:
        self._name, self._link_offset, self._sightings = name, link_offset, sightings
        self._connections = ConnectionTable(index, observer, noticed)
        self._reader: Reader | None = None
        self._earlier: list[Reader] = []
        self._files = 1
        self._head = b""
        self._interfaces: list[Interface] = []
        self._decoders: list[Decoder] = []
        self._clock = CaptureClock()
        self._held: Held | None = None
        self._skipped = dict.fromkeys(NoSegment, 0)
        self._frame = self._tcp = self._bytes = 0
        self._first_at = self._last_at = 0
        self._next_forget = _FORGET_EVERY
        self.format = ""

    def feed(self, block: bytes) -> None:  # noqa: C901 - every packet comes through here: calls are what it costs
        """The next bytes of a file. Raises `Foreign` at its beginning and `Damaged`: `finish` may be called then."""
        reader = self._reader
        if reader is None:
            block = self._head + block
            if len(block) < _MAGIC_SIZE:
                self._head = block
                return
            reader = self._begin(block)
        buffer = reader.feed(block)
        view = memoryview(buffer)
        states, find, decoders = self._connections.states, self._connections.find, self._decoders
        frame, tcp, wire, last_at = self._frame, self._tcp, self._bytes, self._last_at
        sightings, clock = self._sightings, self._clock
        shift = clock.shift_ns
        try:
            for at, start, end, length, interface in reader.records():
                frame += 1
                wire += length
                if interface >= len(decoders):
                    self._know_interfaces()
                segment = decoders[interface](buffer, start, end, length)
                if shift:
                    at -= shift  # noqa: PLW2901 - the same time by a clock that nobody set
                if at < last_at or at - last_at > JUMP_NS:
                    tcp += not isinstance(segment, NoSegment)
                    last_at = self._take_after_jump(segment, frame, at, buffer, last_at)
                    shift = clock.shift_ns
                    continue
                last_at = at
                if type(segment) is not tuple:
                    self._skipped[segment] += 1  # type: ignore[index]  # it is a NoSegment
                    continue
                tcp += 1
                state = states.get(segment[0])
                if state is None or segment[3] & SYN:
                    state = find(segment, frame, at, buffer)
                if state is not None:
                    follow(state, segment, frame, at, buffer, view)
                if sightings is not None:
                    sightings.take(segment, at)
        finally:
            self._frame, self._tcp, self._bytes, self._last_at = frame, tcp, wire, last_at
        self._forget_some()

    def _take_after_jump(self, segment: Segment | NoSegment, frame: int, at: int, block: bytes, last_at: int) -> int:
        """Take in, or hold, a packet that comes before the last one or long after it.

        Returns the time that counts as the last packet's from now on: `HOLDING` while it is open whether the clock was
        set.
        """
        at = min(max(at, 0), LATEST_NS)
        held = self._held
        if held is not None and held.is_another_jump(at):
            last_at = self._release(held, 0)
            held = None
        if held is None:
            if not last_at:
                self._first_at = at
            if not last_at or self._clock.is_exhausted or last_at - BACK_NS <= at <= last_at + JUMP_NS:
                self._take(segment, frame, at, block)
                return at
            held = self._held = Held(last_at)
        if isinstance(segment, NoSegment):
            self._skipped[segment] += 1
            held.previous_at = at
            return HOLDING
        step = held.step(at, segment, self._connections.known(segment[0]))
        if step is None and held.hold(CapturedPacket(segment, frame, at, block)):
            return HOLDING
        if step is None:
            return self._release(held, 0)
        self._release(held, step)
        at = min(max(at - step, 0), LATEST_NS)
        self._take(segment, frame, at, block)
        return at

    def _release(self, held: Held, step: int) -> int:
        """The packets that were held, now that it is known by how much the clock was set; the time of the last one."""
        self._held = None
        self._clock.set_by(step, held.last_at)
        for segment, frame, at, block in held.packets:
            self._take(segment, frame, min(max(at - step, 0), LATEST_NS), block)
        return min(max((held.previous_at or held.last_at) - step, 0), LATEST_NS)

    def _take(self, segment: Segment | NoSegment, frame: int, at: int, block: bytes) -> None:
        """Take in one packet, whose time is right."""
        if isinstance(segment, NoSegment):
            self._skipped[segment] += 1
            return
        state = self._connections.states.get(segment[0])
        if state is None or segment[3] & SYN:
            state = self._connections.find(segment, frame, at, block)
        if state is not None:
            follow(state, segment, frame, at, block, memoryview(block))
        if self._sightings is not None:
            self._sightings.take(segment, at)

    def _begin(self, head: bytes) -> Reader:
        reader = self._reader = reader_of(head)
        self.format = reader.format
        self._interfaces = reader.interfaces
        return reader

    def packet(self, at: int, data: bytes, length: int, interface: int) -> None:
        """One packet that was `length` bytes long on the wire, captured on that interface (see `interface`)."""
        self._one(at, data, (0, len(data)), length, interface)
        self._forget_some()

    def _one(self, at: int, block: bytes, span: tuple[int, int], length: int, interface: int) -> None:
        self._frame += 1
        self._bytes += length
        segment = self._decoders[interface](block, *span, length)
        self._tcp += not isinstance(segment, NoSegment)
        at -= self._clock.shift_ns
        if at < self._last_at or at - self._last_at > JUMP_NS:
            self._last_at = self._take_after_jump(segment, self._frame, at, block, self._last_at)
        else:
            self._last_at = at
            self._take(segment, self._frame, at, block)

    def _forget_some(self) -> None:
        """Every now and then, give up what is over."""
        if self._tcp > self._next_forget:
            self._next_forget = self._tcp + _FORGET_EVERY
            self._connections.forget(self.last_ns)

    @property
    def first_ns(self) -> int:
        """When the first packet was captured, 0 before it."""
        return self._first_at

    @property
    def last_ns(self) -> int:
        """When the last packet was captured, 0 before the first."""
        held = self._held
        return self._last_at if held is None else held.previous_at or held.last_at

    def next_file(self) -> None:
        """The next file of the same capture follows (a ring of files): connections go on, interfaces start again."""
        if self._reader is not None:
            self._earlier.append(self._reader)
        self._reader, self._head, self._decoders = None, b"", []
        self._files += 1

    def interface(self, interface: Interface) -> int:
        """Make an interface known, for `packet`; its index."""
        self._interfaces.append(interface)
        self._know_interfaces()
        return len(self._interfaces) - 1

    def finish(self, problem: str = "") -> Analyzed:
        """The capture is over, or cannot be read on because of `problem`."""
        if self._held is not None:
            self._last_at = self._release(self._held, 0)
        readers = [*self._earlier, *([self._reader] if self._reader is not None else [])]
        kernel_drops = None
        if readers:
            drops = [reader.kernel_drops for reader in readers if reader.kernel_drops is not None]
            kernel_drops = sum(drops) if drops else None
            if not problem and (rest := sum(reader.rest() for reader in readers)):
                problem = f"cut short: {rest} bytes of an unfinished packet at the end"
        elif not self._interfaces and not problem:
            problem = "there is nothing in it" if not self._head else f"cut short: {len(self._head)} bytes"
        connections = self._connections.finish()
        interfaces = self._all_interfaces()
        capture = Capture(
            name=self._name,
            format=self.format,
            links=_unique([LINK_NAMES.get(interface.link, f"link type {interface.link}") for interface in interfaces]),
            interfaces=_unique([interface.name for interface in interfaces if interface.name]),
            snaplen=max((interface.snaplen for interface in interfaces), default=0),
            files=self._files,
            packets=self._frame,
            tcp=self._tcp,
            bytes=self._bytes,
            unknown_link=self._skipped[NoSegment.UNKNOWN_LINK],
            cut=self._skipped[NoSegment.CUT] + sum(reader.skipped for reader in readers),
            damaged_times=sum(reader.damaged_times for reader in readers),
            fragments=self._skipped[NoSegment.FRAGMENT],
            tunnelled=self._skipped[NoSegment.TUNNEL],
            clock_steps=tuple(self._clock.steps),
            first_ns=self._first_at or None,
            last_ns=self._last_at or None,
            kernel_drops=kernel_drops,
            connections=self._connections.opened,
            connections_left_out=self._connections.left_out,
            attempts=self._connections.attempts(),
            problem=problem,
        )
        return Analyzed(capture, connections)

    def _all_interfaces(self) -> list[Interface]:
        """Those of earlier files first."""
        return [interface for reader in self._earlier for interface in reader.interfaces] + self._interfaces

    def _know_interfaces(self) -> None:
        for index in range(len(self._decoders), len(self._interfaces)):
            link = self._interfaces[index].link
            peel = self._link_offset(link) if self._link_offset and link not in DECODERS else None
            self._decoders.append(decoder(link, index, peel))


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


__all__ = ["BLOCK", "Analysis", "Analyzed", "Damaged", "Foreign", "reader_of"]


# The clock of the capturing host: set forward or back during a capture, as TCP timestamps show.
#
# A clock that is set makes every duration across that moment wrong. From there on, times are taken back by the step.
# Not every packet behind a jump can tell: a new connection has no earlier timestamp, a late packet has an old one. Such
# packets wait until one comes that can.

JUMP_NS = 2_000 * MILLISECOND
BACK_NS = 1_000 * MILLISECOND
"""Several queues, and several interfaces, show packets out of order by less."""

_SLOWEST_TICK_NS = 20 * MILLISECOND
_MAX_STEPS = 16
_MAX_HELD = 64


class CaptureClock:
    """Finds the steps; `shift_ns` is by how much the clock is ahead of where it began."""

    def __init__(self) -> None:
        self.shift_ns = 0
        self.steps: list[CaptureClockStep] = []

    @property
    def is_exhausted(self) -> bool:
        """Whether so many steps were found that no more are looked for."""
        return len(self.steps) >= _MAX_STEPS

    def set_by(self, step: int, last_at: int) -> None:
        """The clock was set by so much after the packet of that time; 0: it was not."""
        if step:
            self.steps.append(CaptureClockStep(max(last_at, 0), step))
            self.shift_ns += step


class Held:
    """Packets behind a jump in time, in the order of the capture. `last_at` is the time of the last one before."""

    __slots__ = ("last_at", "packets", "previous_at")

    def __init__(self, last_at: int) -> None:
        self.last_at = last_at
        self.previous_at: int | None = None
        self.packets: list[CapturedPacket] = []

    def is_another_jump(self, at: int) -> bool:
        """Whether a packet of that time does not follow the ones that wait."""
        before = self.previous_at
        return before is not None and not before - BACK_NS <= at <= before + JUMP_NS

    def step(self, at: int, segment: Segment, state: State | None) -> int | None:
        """By how much the clock was set before this packet: 0 when it was not, None when this packet cannot tell."""
        self.previous_at = at
        ticks = _ticks(segment, state)
        if state is None or ticks is None:
            return at - self.last_at if at < self.last_at - BACK_NS else None
        passed_ns = at - state.last_at
        if ticks < 0:
            return None  # sent before the last one
        tick_ns = measured_tick(state)
        by_ticks_ns = ticks * (tick_ns or MILLISECOND)
        usual_ns = by_ticks_ns * 3 // 2 + BACK_NS
        if -BACK_NS <= passed_ns <= usual_ns:
            return 0
        if not tick_ns and usual_ns < passed_ns <= ticks * _SLOWEST_TICK_NS + BACK_NS:
            return None  # a sender whose timestamps go slowly, or a clock that was set
        return passed_ns - by_ticks_ns

    def hold(self, packet: CapturedPacket) -> bool:
        """Keep a packet that cannot tell; whether there is room for another one."""
        self.packets.append(packet.alone())
        return len(self.packets) < _MAX_HELD


def _ticks(segment: Segment, state: State | None) -> int | None:
    """By how much the sender's timestamps have advanced; None when nothing is known."""
    ts_val = segment[10]
    if state is None or ts_val < 0 or state.ts_val < 0 or state.last_at <= 0:
        return None
    return ahead(ts_val, state.ts_val)


HOLDING: Final = 1 << 80
"""Stands for the time of the last packet while packets are held: every time is less."""
