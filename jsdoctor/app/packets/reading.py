"""Reading packets for one run: captures, and what passes an interface now; what could not be read; a sentence on it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from msgspec.structs import replace

from jsdoctor.app.beside import BesideRead
from jsdoctor.app.packets.headline import packets_headline
from jsdoctor.app.packets.options import PacketRequest
from jsdoctor.collect.packets.files import read_captures
from jsdoctor.collect.packets.inputs import capture_files
from jsdoctor.collect.packets.native import nats_observer, packet_core
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.report import Source
from jsdoctor.model.wording import counted
from jsdoctor.parse.packets.kept import capture_gaps
from jsdoctor.parse.packets.nats.observer import NatsObserver


def read_packets(request: PacketRequest, show: Callable[[str], None]) -> BesideRead:
    """Read all of them. What cannot be read becomes a gap; raises problems with names and with listening."""
    files = capture_files(request.files)
    started = datetime.now(UTC)
    observer = nats_observer()
    packets = PacketEvidence()
    if files:
        pace = "" if packet_core() else " in Python, which is slower than the compiled core of jsdoctor[native]"
        show(f"reading {counted(len(files), 'capture')}{pace}")
        packets = read_captures(files, lambda _: observer)
    if request.interface:
        packets = _with_interface(packets, request, observer, show)
    packets = replace(packets, nats=observer.traffic())
    names = [*map(str, files), *filter(None, [request.interface])]
    sources = tuple(Source("pcap", name, started) for name in names)
    return BesideRead(packets, capture_gaps(packets), sources, packets_headline(packets))


def _with_interface(
    packets: PacketEvidence, request: PacketRequest, observer: NatsObserver, show: Callable[[str], None]
) -> PacketEvidence:
    from jsdoctor.collect.packets.interface import sniff

    show(f"listening on {request.interface} for {request.seconds:g} s")
    analyzed = sniff(request.interface, request.seconds, len(packets.captures), observer, show, ports=request.ports)
    return replace(
        packets,
        captures=(*packets.captures, analyzed.capture),
        connections=(*packets.connections, *analyzed.connections),
    )
