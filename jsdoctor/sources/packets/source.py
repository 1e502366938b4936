"""Packet captures: what passed on the network."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.wording import counted
from jsdoctor.packets.kept import capture_gaps, packets_exchange
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.sources.base import Collection, Need, Reading, Run, Source
from jsdoctor.sources.headline import packets_headline
from jsdoctor.sources.packets.files import capture_files, read_captures


@dataclass(frozen=True, slots=True)
class PacketCaptures(Source):
    """Captures by name: files, directories, patterns, pipes and standard input."""

    names: tuple[Path, ...]
    provides = frozenset({PacketEvidence})

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names them."""
        return ("--pcap",)

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """What is found in all of them; to be kept, as an exchange of the last sample. Raises problems with names."""
        if any(isinstance(kept, PacketEvidence) for reading in collection.readings for kept in reading.evidence):
            named = collection.origin[0].name
            raise UsageProblem(f"{named} has packets, and --pcap names others", "judge them apart")
        files = capture_files(self.names)
        started = datetime.now(UTC)
        observer = NatsObserver()
        run.show(f"reading {counted(len(files), 'capture')}")
        packets = replace(read_captures(files, lambda _: observer), nats=observer.traffic())
        origin = tuple(EvidenceOrigin("pcap", str(file), started) for file in files)
        if need.is_everything:
            kept = packets_exchange(packets, [str(file) for file in files], started)
            return nullcontext(Reading(exchanges=(kept,), origin=origin))
        gaps = capture_gaps(packets)
        return nullcontext(Reading(evidence=(packets,), gaps=gaps, origin=origin, headline=packets_headline(packets)))
