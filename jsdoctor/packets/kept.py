"""Evidence from packet captures as an exchange of a sample, for bundles.

The packets themselves hold messages and logins and are never kept. The evidence has neither, and rules judge it like
the packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.packets import Capture, PacketEvidence
from jsdoctor.model.typed import decode_as

_CUT_SHORT = "cut short"


def packets_exchange(packets: PacketEvidence, names: Sequence[str], asked_at: datetime) -> Exchange:
    """The exchange that keeps them. `names`: the files and interfaces that they were read from."""
    return Exchange(Access.PACKETS, Endpoint.PACKETS, ", ".join(names), asked_at, 0, msgspec.json.encode(packets))


def kept_packets(exchanges: Iterable[Exchange]) -> tuple[PacketEvidence | None, tuple[Gap, ...]]:
    """The packets among exchanges with the gaps of their captures. What cannot be read is a gap that was requested."""
    packet_evidence: PacketEvidence | None = None
    gaps: list[Gap] = []
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.PACKETS:
            continue
        try:
            packet_evidence = decode_as(exchange.body, PacketEvidence)
            gaps += capture_gaps(packet_evidence)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            reason = f"what was found in the packets of {exchange.target} cannot be read: {error}"
            subject = Subject(kind="file", name=exchange.target)
            gaps.append(Gap("pcap", subject, reason, "read it with the version that wrote it, or capture again"))
    return packet_evidence, tuple(gaps)


def capture_gaps(packets: PacketEvidence) -> tuple[Gap, ...]:
    """What could not be read of captures."""
    return tuple(_gap(capture) for capture in packets.captures if capture.problem)


def _gap(capture: Capture) -> Gap:
    """The gap of a capture. It is not requested if the last packet is cut short only, as when a capture was stopped."""
    return Gap(
        kind="pcap",
        subject=Subject(kind="file", name=capture.name),
        reason=capture.problem,
        how_to_get="copy the file again or capture again; editcap (of Wireshark) converts other formats",
        requested=not (capture.packets and capture.problem.startswith(_CUT_SHORT)),
    )
