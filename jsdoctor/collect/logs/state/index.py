"""The index of a state directory: which bytes of which file were scanned, and how to recognize them later."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

import jsdoctor
from jsdoctor.collect.logs.store import is_uri
from jsdoctor.model.log_scan import Part, ScanSettings
from jsdoctor.model.typed import decode_as
from jsdoctor.parse.logs.scan.rows import ROWS_REVISION

INDEX = "index.json"
FORMAT = "jsdoctor.audit-state/v1"
SAMPLE_BYTES = 16 * 1024
"""Number of bytes at the beginning of a file, and before the end of each range, that must be unchanged."""


class SavedRange(msgspec.Struct, frozen=True):
    """A scanned range of a file. `sample` is the digest of the bytes before its end, `rows` a file of the directory.

    `name` is the name of the file when the range was scanned, which its rows contain.
    """

    start: int
    end: int
    sample: str
    rows: str
    name: str


class SavedFile(msgspec.Struct, frozen=True):
    """A file as the last audit saw it. `inode` is empty for an object store; `head` is a digest of its first bytes.

    `ranges` follow each other from offset 0. A file that was scanned in one piece (`whole`) is known only as long as
    nothing about it changes: one that is compressed, pasted, or has times without dates.
    """

    part: Part
    inode: str
    head: str
    whole: bool
    ranges: tuple[SavedRange, ...]


class StateIndex(msgspec.Struct, frozen=True):
    """The index. `scan` identifies rules and release: rows of another scan are not used."""

    format: str = FORMAT
    scan: str = ""
    files: tuple[SavedFile, ...] = ()


def scan_id(settings: ScanSettings) -> str:
    """Everything that rows depend on beside the bytes: the release, the form of rows and the signatures."""
    text = f"{jsdoctor.__version__} {ROWS_REVISION}".encode() + msgspec.msgpack.encode(settings)
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def inode_of(path: str) -> str:
    """Device and inode of a local file, which a rotation keeps; empty where there is none."""
    if is_uri(path):
        return ""
    try:
        stat = Path(path).stat()
    except OSError:
        return ""
    return f"{stat.st_dev}:{stat.st_ino}"


def sample(stream: BinaryIO, end: int) -> str:
    """The digest of the bytes before an offset; of those that are there, where the file is shorter."""
    begin = max(0, end - SAMPLE_BYTES)
    stream.seek(begin)
    return hashlib.blake2b(read_exactly(stream, end - begin), digest_size=16).hexdigest()


def read_exactly(stream: BinaryIO, size: int) -> bytes:
    """The requested number of bytes, fewer only at the end: raw files and object stores may return fewer at a time."""
    data = b""
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def read_index(directory: Path) -> StateIndex | None:
    """The index of a directory, None where there is none. Raises `ValueError` for one that cannot be understood."""
    try:
        content = (directory / INDEX).read_bytes()
    except FileNotFoundError:
        return None
    index = decode_as(content, StateIndex)
    if index.format != FORMAT:
        raise ValueError(f"its format is {index.format[:60]!r}, not {FORMAT}")
    return index


def write_index(directory: Path, scan: str, files: Sequence[SavedFile]) -> None:
    """Replace the index. A reader sees the old one or the new one."""
    aside = directory / f"{INDEX}.new"
    aside.write_bytes(msgspec.json.encode(StateIndex(scan=scan, files=tuple(files))))
    aside.replace(directory / INDEX)
