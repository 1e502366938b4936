"""How tests read captures: in one go or in pieces, with every label and every byte noted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from jsdoctor.model.packets import Label
from jsdoctor.packets.analysis import Analysis, Analyzed
from jsdoctor.packets.segment import CapturedConnection, Direction
from tests.servers.binaries import ROOT

CAPTURES = ROOT / "fixtures" / "captures"
TO_SERVER, TO_CLIENT = "to_server", "to_client"


@dataclass
class Noted:
    """Labels by direction and number of the packet in the file."""

    labels: dict[str, dict[int, Label]] = field(default_factory=lambda: {TO_SERVER: {}, TO_CLIENT: {}})

    def __call__(self, direction: Direction, frame: int, label: Label) -> None:
        self.labels[TO_SERVER if direction.to_server else TO_CLIENT][frame] = label

    @property
    def all(self) -> dict[int, Label]:
        """Both directions."""
        return {**self.labels[TO_SERVER], **self.labels[TO_CLIENT]}


@dataclass
class Bytes:
    """An observer that puts the bytes of every direction where they belong."""

    content: dict[tuple[int, str], dict[int, int]] = field(default_factory=dict)
    lost_spans: list[tuple[str, int, int]] = field(default_factory=list)
    opened_connections: list[int] = field(default_factory=list)
    closed_connections: list[int] = field(default_factory=list)

    def opened(self, connection: CapturedConnection) -> None:
        self.opened_connections.append(connection.number)

    def data(self, direction: Direction, offset: int, _at_ns: int, payload: memoryview, length: int) -> None:
        assert len(payload) <= length
        stream = self.content.setdefault((direction.connection.number, _name(direction)), {})
        for position, byte in enumerate(payload):
            stream.setdefault(offset + position, byte)

    def lost(self, direction: Direction, start: int, end: int) -> None:
        self.lost_spans.append((_name(direction), start, end))

    def closed(self, connection: CapturedConnection, _at_ns: int) -> None:
        self.closed_connections.append(connection.number)

    def text(self, connection: int, direction: str) -> bytes:
        """What is there without a hole from offset 0 on."""
        stream = self.content.get((connection, direction), {})
        text_bytes = bytearray()
        while len(text_bytes) in stream:
            text_bytes.append(stream[len(text_bytes)])
        return bytes(text_bytes)


def analyze(
    content: bytes, *, pieces: Sequence[int] = (), noted: Noted | None = None, observer: Bytes | None = None
) -> Analyzed:
    """Everything about a file, given at once or cut at these positions."""
    analysis = Analysis(0, "test", observer=observer, noticed=noted)
    cuts = [0, *sorted(pieces), len(content)]
    for start, end in pairwise(cuts):
        analysis.feed(content[start:end])
    return analysis.finish()


def _name(direction: Direction) -> str:
    return TO_SERVER if direction.to_server else TO_CLIENT
