"""Reading packets for one run: captures, and what passes an interface now; what could not be read; a sentence on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec.structs import replace

from jsdoctor.cli.evidence import BesideRead
from jsdoctor.cli.packets.options import PacketRequest
from jsdoctor.collect.packets.files import read_captures
from jsdoctor.collect.packets.inputs import capture_files
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.nats_traffic import Content
from jsdoctor.model.packets import Capture, PacketEvidence
from jsdoctor.model.report import Source
from jsdoctor.model.wording import counted
from jsdoctor.parse.packets.nats.observer import NatsObserver

_CUT_SHORT = "cut short"


def read_packets(request: PacketRequest, show: Callable[[str], None]) -> BesideRead:
    """Read all of them. What cannot be read becomes a gap; raises problems with names and with listening."""
    files = capture_files(request.files)
    started = datetime.now(UTC)
    observer = NatsObserver()
    packets = PacketEvidence()
    if files:
        show(f"reading {counted(len(files), 'capture')}")
        packets = read_captures(files, lambda _: observer)
    if request.interface:
        packets = _with_interface(packets, request, observer, show)
    packets = replace(packets, nats=observer.traffic())
    names = [*map(str, files), *filter(None, [request.interface])]
    gaps = tuple(_gap(capture) for capture in packets.captures if capture.problem)
    return BesideRead(packets, gaps, tuple(Source("pcap", name, started) for name in names), headline(packets))


def _with_interface(
    packets: PacketEvidence, request: PacketRequest, observer: NatsObserver, show: Callable[[str], None]
) -> PacketEvidence:
    from jsdoctor.collect.packets.interface import sniff

    show(f"listening on {request.interface} for {request.seconds:g} s")
    heard = sniff(request.interface, request.seconds, len(packets.captures), observer, show, ports=request.ports)
    return replace(
        packets,
        captures=(*packets.captures, heard.capture),
        connections=(*packets.connections, *heard.connections),
    )


def _gap(capture: Capture) -> Gap:
    """A capture that was stopped ends in the middle of a packet: that alone makes no run inconclusive."""
    return Gap(
        kind="pcap",
        subject=Subject(kind="file", name=capture.name),
        reason=capture.problem,
        how_to_get="copy the file again or capture anew; editcap (of Wireshark) converts other formats",
        requested=not (capture.packets and capture.problem.startswith(_CUT_SHORT)),
    )


def headline(packets: PacketEvidence) -> str:
    """What was read: packets, connections, and how many of these nobody can read."""
    told = Counter(talk.content for traffic in packets.nats for talk in traffic.connections)
    parts = [
        counted(sum(capture.packets for capture in packets.captures), "packet"),
        f"{counted(len(packets.connections), 'TCP connection')}, {told[Content.NATS]:,} of NATS",
    ]
    for content, word in ((Content.TLS, "encrypted"), (Content.S2, "compressed")):
        if told[content]:
            parts.append(f"{told[content]:,} {word}")
    return f"{', '.join(parts)} in {counted(len(packets.captures), 'capture')}"
