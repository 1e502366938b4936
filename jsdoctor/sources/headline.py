"""One line on what was read: how many servers, streams and consumers, through which access."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Access, Sample
from jsdoctor.model.nats_traffic import Content
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.topology import Topology
from jsdoctor.model.wording import counted
from jsdoctor.render.wording import to_the_second


def headline(evidence: EvidenceSet, samples: Sequence[Sample], captured_at: datetime | None = None) -> str:
    """What the report covers; empty when nothing was seen. `captured_at` is for evidence that is not of just now."""
    parts = list(_parts(evidence, samples))
    if parts and captured_at is not None:
        parts.append(f"captured at {to_the_second(captured_at)}")
    return ", ".join(parts)


def _parts(evidence: EvidenceSet, samples: Sequence[Sample]) -> Iterator[str]:
    servers, connected = evidence.get(Servers), evidence.get(ConnectedServer)
    if servers is not None:
        versions = sorted({server.version for server in servers.servers if server.version})
        seen = len(servers.servers)
        missing = _missing(evidence.get(Topology), seen)
        of_all = f"{seen:,} of {counted(seen + missing, 'server')}" if missing else counted(seen, "server")
        yield of_all + (f" ({', '.join(versions)})" if versions else "")
    elif connected is not None:
        yield f"server {connected.server_name} ({connected.version})"
    series = evidence.get(SnapshotSeries)
    if series is not None:
        streams = series.last.streams
        yield counted(len(streams), "stream")
        yield counted(sum(len(stream.consumers) for stream in streams), "consumer")
    access = {exchange.access for sample in samples for exchange in sample.exchanges}
    names = {Access.SYSTEM: "system account", Access.ACCOUNT: "plain account", Access.MONITOR: "monitoring"}
    if through := [name for kind, name in names.items() if kind in access]:
        yield f"through {' and '.join(through)}"


def _missing(topology: Topology | None, seen: int) -> int:
    """Members of meta groups that did not respond, of those that `seen` servers know."""
    if topology is None:
        return 0
    alone = sum(len(domain.servers) for domain in topology.domains if domain.is_single)
    return max(0, sum(domain.meta_size for domain in topology.domains) - (seen - topology.without_jetstream - alone))


def packets_headline(packets: PacketEvidence) -> str:
    """The number of packets and connections, and of those that are encrypted or compressed."""
    counts = Counter(talk.content for traffic in packets.nats for talk in traffic.connections)
    parts = [
        counted(sum(capture.packets for capture in packets.captures), "packet"),
        f"{counted(len(packets.connections), 'TCP connection')}, {counts[Content.NATS]:,} of NATS",
    ]
    for content, word in ((Content.TLS, "encrypted"), (Content.S2, "compressed")):
        if counts[content]:
            parts.append(f"{counts[content]:,} {word}")
    return f"{', '.join(parts)} in {counted(len(packets.captures), 'capture')}"
