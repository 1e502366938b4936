"""Reading packet captures for one run; what could not be read; a sentence on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.app.beside import BesideRead
from jsdoctor.app.packets.headline import packets_headline
from jsdoctor.collect.packets.files import read_captures
from jsdoctor.collect.packets.inputs import capture_files
from jsdoctor.model.report import Source
from jsdoctor.model.wording import counted
from jsdoctor.parse.packets.kept import capture_gaps
from jsdoctor.parse.packets.nats.observer import NatsObserver


def read_packets(captures: Sequence[Path], show: Callable[[str], None]) -> BesideRead:
    """Read all of them. What cannot be read becomes a gap; raises problems with names."""
    files = capture_files(captures)
    started = datetime.now(UTC)
    observer = NatsObserver()
    show(f"reading {counted(len(files), 'capture')}")
    packets = read_captures(files, lambda _: observer)
    packets = replace(packets, nats=observer.traffic())
    sources = tuple(Source("pcap", str(file), started) for file in files)
    return BesideRead(packets, capture_gaps(packets), sources, packets_headline(packets))
