"""A sentence on the packets of a run."""

from __future__ import annotations

from collections import Counter

from jsdoctor.model.nats_traffic import Content
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.wording import counted


def packets_headline(packets: PacketEvidence) -> str:
    """What was read: packets, connections, and how many of these nobody can read."""
    counts = Counter(talk.content for traffic in packets.nats for talk in traffic.connections)
    parts = [
        counted(sum(capture.packets for capture in packets.captures), "packet"),
        f"{counted(len(packets.connections), 'TCP connection')}, {counts[Content.NATS]:,} of NATS",
    ]
    for content, word in ((Content.TLS, "encrypted"), (Content.S2, "compressed")):
        if counts[content]:
            parts.append(f"{counts[content]:,} {word}")
    return f"{', '.join(parts)} in {counted(len(packets.captures), 'capture')}"
