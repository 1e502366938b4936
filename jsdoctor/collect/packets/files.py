"""Reading capture files: plain or compressed, in blocks, and what cannot be read told instead of raised."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from jsdoctor.collect.logs.codec import Unreadable, codec_of, decompressed
from jsdoctor.collect.packets.foreign import link_offset, packets_of
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.parse.packets.analysis import BLOCK, Analysis, Analyzed
from jsdoctor.parse.packets.container import Damaged, Foreign
from jsdoctor.parse.packets.pairs import paired
from jsdoctor.parse.packets.segment import StreamObserver
from jsdoctor.parse.packets.sightings import Sightings
from jsdoctor.parse.packets.tcp.state import Noticed

MOST_MATCHED = 8
"""More files than that are the pieces of a long capture, not views of the same connections."""

_HEAD = 8
ObserverOf = Callable[[int], StreamObserver | None]
"""The reader of bytes for the capture of that index; None: nobody reads them."""


def nobody(_index: int) -> None:
    """No observer: TCP figures only."""


def read_captures(paths: Sequence[Path], observer_of: ObserverOf = nobody) -> PacketEvidence:
    """Everything that TCP tells of these captures. A file that cannot be read has a `problem`; nothing is raised.

    Each file is one capture. A few of them are also matched with each other, packet by packet.
    """
    seen = [Sightings(index) for index in range(len(paths))] if 1 < len(paths) <= MOST_MATCHED else []
    analyzed = [
        read_capture(path, index, observer_of(index), sightings=seen[index] if seen else None)
        for index, path in enumerate(paths)
    ]
    connections = [connection for one in analyzed for connection in one.connections]
    return PacketEvidence(
        captures=tuple(one.capture for one in analyzed),
        connections=tuple(sorted(connections, key=lambda one: (one.capture, one.first_ns, one.number))),
        pairs=paired(seen),
    )


def read_capture(
    path: Path,
    index: int = 0,
    observer: StreamObserver | None = None,
    *,
    noticed: Noticed | None = None,
    sightings: Sightings | None = None,
) -> Analyzed:
    """One file. What was read before a problem counts, and the problem is in the result."""
    analysis = Analysis(
        index, str(path), observer=observer, noticed=noticed, link_offset=link_offset, sightings=sightings
    )
    problem = ""
    try:
        with contextlib.closing(blocks(path)) as pieces:
            for block in pieces:
                analysis.feed(block)
    except (Damaged, Unreadable) as error:
        problem = str(error)
    except Foreign as error:
        problem = packets_of(path, analysis) or ""
        if problem:
            problem = f"not a capture that can be read: {error}; {problem}"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    return analysis.finish(problem)


def blocks(path: Path) -> Generator[bytes, None, None]:
    """The bytes of a file, unpacked if need be. Raises `Unreadable` and OSError."""
    with path.open("rb", buffering=0) as file:
        head = [file.read(_HEAD)]  # a pipe cannot be read twice

        def read(size: int) -> bytes:
            return head.pop() if head else file.read(size) or b""

        codec = codec_of(head[0])
        if codec:
            yield from decompressed(read, codec)
            return
        while block := read(BLOCK):
            yield block
