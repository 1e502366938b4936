"""Reading capture files: plain or compressed, in blocks. What cannot be read is reported as a problem, not raised."""

from __future__ import annotations

import contextlib
import glob
import re
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from io import RawIOBase
from pathlib import Path
from types import FrameType
from typing import Any, cast

import msgspec

from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.problems import UsageProblem
from jsdoctor.packets.analysis import BLOCK, Analysis, Analyzed
from jsdoctor.packets.capture_file import MAGIC, MAGICS, Damaged, Foreign, Interface
from jsdoctor.packets.pairs import PacketIndex, paired
from jsdoctor.packets.segment import StreamObserver
from jsdoctor.packets.tcp.state import Noticed
from jsdoctor.sources.codec import Unreadable, codec_of, decompressed

STANDARD_INPUT = Path("-")
_HEAD_BYTES = 8
_HINT = "--pcap takes a capture, a directory, a glob in quotes, a named pipe, or - for standard input; repeat it"


def capture_files(named: Sequence[Path]) -> tuple[Path, ...]:
    """Every capture once, in the order named; those of a directory or a glob by name. Raises `UsageProblem`."""
    in_order: dict[Path, None] = {}
    for path in named:
        try:
            in_order.update(dict.fromkeys(_expand(path)))
        except OSError as error:
            raise UsageProblem(f"cannot read {path}: {error.strerror or error}", _HINT) from error
    return tuple(in_order)


def _expand(path: Path) -> list[Path]:
    if path == STANDARD_INPUT:
        return [path]
    if path.is_dir():
        inside = [candidate for candidate in sorted(path.iterdir()) if candidate.is_file() and _is_capture(candidate)]
        if not inside:
            raise UsageProblem(f"there is no capture in the directory {path}", _HINT)
        return inside
    if path.exists():
        return [path]
    matches = sorted(glob.glob(str(path))) if glob.has_magic(str(path)) else []  # noqa: PTH207 - may be absolute
    if not matches:
        raise UsageProblem(f"no such file: {path}", _HINT)
    return [Path(match) for match in matches if Path(match).is_file()]


def _is_capture(path: Path) -> bool:
    """Whether the first bytes are those of a capture; a compressed file counts if its name contains `cap`."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return head[:4] in MAGICS or head[:4] == MAGIC or bool(codec_of(head) and "cap" in path.name.lower())


MAX_MATCHED = 8
"""Maximum number of captures that are matched with each other."""

ObserverOf = Callable[[int], StreamObserver | None]
"""The reader of bytes for the capture of that index; None: they are not read."""


def no_observer(_index: int) -> None:
    """No observer: TCP figures only."""


def read_captures(paths: Sequence[Path], observer_of: ObserverOf = no_observer) -> PacketEvidence:
    """The TCP evidence of these captures. A file that cannot be read has a `problem`; nothing is raised.

    Files of one ring are one capture; the others are matched with each other, packet by packet.
    """
    analyzed: list[Analyzed] = []
    seen: list[PacketIndex] = []
    left_out: dict[int, int] = {}
    for ring in rings_of(paths, _first_time):
        while ring.files:
            index = len(analyzed)
            sightings = PacketIndex(index) if len(paths) > 1 and index < MAX_MATCHED else None
            read = read_ring(ring, index, observer_of(index), sightings=sightings)
            analyzed.append(read)
            seen += filter(None, [sightings])
            if len(paths) > 1:
                left_out[index] = sightings.left_out if sightings else read.capture.packets
    connections = [connection for candidate in analyzed for connection in candidate.connections]
    pairs, unmatched = paired(seen)
    return PacketEvidence(
        captures=tuple(
            msgspec.structs.replace(candidate.capture, not_compared=left_out.get(index, 0) if len(analyzed) > 1 else 0)
            for index, candidate in enumerate(analyzed)
        ),
        connections=tuple(
            sorted(connections, key=lambda connection: (connection.capture, connection.first_ns, connection.number))
        ),
        pairs=pairs,
        unmatched=unmatched,
    )


def read_capture(
    path: Path,
    index: int = 0,
    observer: StreamObserver | None = None,
    *,
    noticed: Noticed | None = None,
    sightings: PacketIndex | None = None,
) -> Analyzed:
    """One file. What was read before a problem counts, and the problem is in the result."""
    return read_ring(Ring([(path, None)]), index, observer, noticed=noticed, sightings=sightings)


def read_ring(
    ring: Ring,
    index: int,
    observer: StreamObserver | None = None,
    *,
    noticed: Noticed | None = None,
    sightings: PacketIndex | None = None,
) -> Analyzed:
    """The next file of a ring, and those that continue it; these are taken out of the ring."""
    path, _ = ring.files.pop(0)
    analysis = Analysis(
        index,
        "standard input" if path == STANDARD_INPUT else str(path),
        observer=observer,
        noticed=noticed,
        link_offset=link_offset,
        sightings=sightings,
    )
    problem = _read(path, analysis)
    while not problem and ring.continues(analysis.last_ns):
        path, _ = ring.files.pop(0)
        analysis.next_file()
        problem = _read(path, analysis)
        if problem:
            problem = f"{path.name}: {problem}"
    return analysis.finish(problem)


def _read(path: Path, analysis: Analysis) -> str:
    """Pass one file to the analysis. Returns why reading ended early, or an empty text."""
    try:
        with contextlib.closing(blocks(path)) as pieces:
            for block in pieces:
                analysis.feed(block)
    except (Damaged, Unreadable) as error:
        return str(error)
    except Foreign as error:
        problem = read_with_scapy(path, analysis) or ""
        return f"not a capture that can be read: {error}; {problem}" if problem else ""
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return ""


def blocks(path: Path) -> Generator[bytes, None, None]:
    """The bytes of a file, unpacked if need be. Raises `Unreadable` and OSError."""
    with _opened(path) as file, _interrupt_ends_input(path):
        head = [_read_exactly(file, _HEAD_BYTES)]  # a pipe cannot be read twice

        def read(size: int) -> bytes:
            return head.pop() if head else file.read(size) or b""

        codec = codec_of(head[0])
        if codec:
            yield from decompressed(read, codec)
            return
        while block := read(BLOCK):
            yield block


def _opened(path: Path) -> RawIOBase:
    """The file, or standard input under the name `-`; closing does not close standard input itself."""
    if path == STANDARD_INPUT:
        return cast("RawIOBase", open(sys.stdin.fileno(), "rb", buffering=0, closefd=False))
    return cast("RawIOBase", path.open("rb", buffering=0))


@contextlib.contextmanager
def _interrupt_ends_input(path: Path) -> Iterator[None]:
    """Ignore the first Ctrl-C while standard input is read: it ends the writer of the pipe, and what came is judged.

    A second one raises KeyboardInterrupt. Only the main thread receives signals.
    """
    if path != STANDARD_INPUT or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ignore_once(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ignore_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read_exactly(file: RawIOBase, size: int) -> bytes:
    """The requested number of bytes, or all there are: a pipe may return fewer at a time."""
    data = b""
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _first_time(path: Path) -> int | None:
    """When the first packet of a file was captured; None for a pipe, which can be read only once."""
    if not path.is_file():
        return None
    analysis = Analysis(0, path.name)
    try:
        with contextlib.closing(blocks(path)) as pieces:
            for block in pieces:
                analysis.feed(block)
                if analysis.first_ns:
                    return analysis.first_ns
    except (Damaged, Unreadable, Foreign, OSError):
        return analysis.first_ns or None
    return analysis.first_ns or None


_DIGITS = re.compile(r"\d+")
_OVERLAP_NS = 1_000_000_000
"""Maximum time by which a file may begin before the end of the file before it: packets of several queues overlap."""


_PAUSE_NS = 30_000_000_000
"""Maximum time without a packet between two files: what writes a ring pauses not at all."""


class Ring:
    """Files that may be one capture, oldest first, each with the time of its first packet (None: unknown)."""

    def __init__(self, files: list[tuple[Path, int | None]]) -> None:
        self.files = files

    def continues(self, last_ns: int) -> bool:
        """Whether the next file begins soon after what was read so far. Files of the same time are two captures, and so
        are those of two hosts, one after the other, whose names differ in a digit as well.
        """
        if not self.files or not last_ns:
            return False
        _, first_ns = self.files[0]
        return first_ns is not None and last_ns - _OVERLAP_NS <= first_ns <= last_ns + _PAUSE_NS


def rings_of(paths: Sequence[Path], first_time: Callable[[Path], int | None]) -> list[Ring]:
    """Files grouped by directory and by name without digits, in the order in which each group was named first."""
    groups: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        groups.setdefault((path.parent, _DIGITS.sub("", path.name)), []).append(path)
    rings = []
    for group in groups.values():
        timed = [(path, first_time(path) if len(group) > 1 else None) for path in group]
        if all(first_ns is not None for _, first_ns in timed):
            timed.sort(key=lambda entry: entry[1] or 0)
        rings.append(Ring(timed))
    return rings


# Captures and link layers that jsdoctor does not read itself: scapy's readers, if they are installed.
#
# scapy is an extra (`pip install 'jsdoctor[pcap]'`) and slow to import: nothing of it is touched before it is needed.

_EXTRA_HINT = "install the extra that reads more formats: pip install 'jsdoctor[pcap]'"
_ETHERNET = 1
_IP_HEADER_BYTES = 20
_SECOND_NS = 1_000_000_000


def link_offset(link: int) -> Callable[[bytes], int | None] | None:
    """Where IP begins in frames of that link type; None without scapy, or when scapy does not know it either."""
    import logging

    logging.getLogger("scapy").setLevel(logging.ERROR)  # it would tell the user of its own settings
    try:
        from scapy.config import conf
        from scapy.layers import all as _layers  # noqa: F401
        from scapy.layers.inet import IP
        from scapy.layers.inet6 import IPv6
    except ImportError:
        return None
    frame_class = conf.l2types.num2layer.get(link)
    if frame_class is None:
        return None

    def offset(frame: bytes) -> int | None:
        try:
            packet: Any = frame_class(frame)
        except Exception:  # noqa: BLE001 - dissectors of many authors, on whatever was captured
            return None
        layer = packet.getlayer(IP) or packet.getlayer(IPv6)
        begins = frame.find(layer.original[:_IP_HEADER_BYTES]) if layer is not None and layer.original else -1
        return begins if begins >= 0 else None

    return offset


def read_with_scapy(path: Path, analysis: Analysis) -> str:
    """Pass all packets of a file to the analysis with scapy. Returns why that is not possible, or an empty text."""
    if path.suffix != ".erf":
        return "convert it first: editcap -F pcapng IN OUT"
    try:
        from scapy.utils import ERFEthernetReader
    except ImportError:
        return _EXTRA_HINT
    interface = analysis.interface(Interface(_ETHERNET))
    analysis.format = "ERF"
    try:
        with ERFEthernetReader(str(path)) as reader:
            for packet in reader:
                data: bytes = bytes(packet.original)
                analysis.packet(int(packet.time * _SECOND_NS), data, int(packet.wirelen or len(data)), interface)
    except Exception as error:  # noqa: BLE001 - whatever the reader stumbles over, what it read counts
        return f"scapy stopped reading ({type(error).__name__}: {error})"
    return ""
