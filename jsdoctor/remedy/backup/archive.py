"""The archive in backups of servers since 2.15: `NATSARC1`, then one entry for each message (server/archive)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from jsdoctor.remedy.backup.message import BackupMessage
from jsdoctor.remedy.backup.problem import BackupProblem

MAGIC = b"NATSARC1"
_CUT = BackupProblem("the backup is cut off: its end mark is missing", "take a new backup")
_MAX_NAME_LENGTH = 1 << 20
_MAX_ENTRY = 256 << 20


class ArchiveEntry(NamedTuple):
    """One entry: a message (its sequence is above 0), `state.json`, or `consumers/NAME` with a state in JSON."""

    name: bytes
    date_ns: int
    stream_seq: int
    headers: bytes
    payload: bytes


def archived(unpacked: BinaryIO) -> Iterator[BackupMessage]:
    """The messages of an archive. Raises BackupProblem."""
    for entry in entries(unpacked):
        if entry.stream_seq:
            yield BackupMessage(entry.stream_seq, entry.date_ns, entry.name, entry.headers, entry.payload)


def entries(unpacked: BinaryIO) -> Iterator[ArchiveEntry]:
    """All entries: the stream's state, its consumers, then its messages.

    An entry of which everything is empty ends it (server `stream_backup.go` streamSnapshotV2). Raises BackupProblem.
    """
    unpacked.read(len(MAGIC))
    while True:
        name_length = _uvarint(unpacked)
        date_ns = _varint(unpacked)
        stream_seq = _uvarint(unpacked)
        header_size, payload_size = _uvarint(unpacked), _uvarint(unpacked)
        if name_length > _MAX_NAME_LENGTH or header_size + payload_size > _MAX_ENTRY:
            raise BackupProblem("the backup is damaged: an entry of impossible size", "take a new backup")
        name = _exactly(unpacked, name_length)
        headers, payload = _exactly(unpacked, header_size), _exactly(unpacked, payload_size)
        if not (stream_seq or name or date_ns or headers or payload):
            return
        yield ArchiveEntry(name, date_ns, stream_seq, headers, payload)


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise _CUT
    return data


def _uvarint(file: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = _exactly(file, 1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        if shift > 63:
            raise BackupProblem("the backup is damaged: a number of impossible size", "take a new backup")


def _varint(file: BinaryIO) -> int:
    """Zigzag, as Go's encoding/binary writes signed numbers."""
    value = _uvarint(file)
    return value >> 1 ^ -(value & 1)
