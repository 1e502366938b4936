"""The messages in a backup: an archive of servers since 2.15, or a tar of block files of older servers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from jsdoctor.remedy.backup import s2
from jsdoctor.remedy.backup.archive import MAGIC, archived
from jsdoctor.remedy.backup.block_file import records
from jsdoctor.remedy.backup.message import BackupMessage
from jsdoctor.remedy.backup.problem import BackupProblem

_ERROR_FILE = "errors.txt"
_MAX_FILE = 256 << 20
"""Maximum size in bytes: block files of servers have 8 MiB at most, unless a single larger message needs more."""


class Unpacked(io.RawIOBase):
    """The decompressed bytes of a backup, to be read from front to back."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._blocks = s2.blocks(file)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Always True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Implements `io.RawIOBase.readinto`."""
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = memoryview(block)
        taken = self._left[: len(buffer)]
        buffer[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        return len(taken)


def is_archive(start: bytes) -> bool:
    """Whether the first bytes of a backup, as they came from the server, begin the archive of servers since 2.15."""
    try:
        return starts_archive(io.BufferedReader(Unpacked(io.BytesIO(start))))
    except BackupProblem:  # a part of the first frame only
        return MAGIC in start[:64]


def messages(path: Path) -> Iterator[BackupMessage]:
    """Every message of a backup in ascending sequence, including deleted messages that a block file still holds.

    Raises BackupProblem if the file is damaged or cut off, or contains an error of the server that wrote it.
    """
    with opened(path) as unpacked:
        yield from archived(unpacked) if starts_archive(unpacked) else _in_blocks(unpacked)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader[Unpacked]]:
    """The decompressed bytes of a backup's data file."""
    with path.open("rb") as file, io.BufferedReader(Unpacked(file), 1 << 16) as unpacked:
        yield unpacked


def starts_archive(unpacked: io.BufferedReader[Unpacked]) -> bool:
    """Whether the next bytes are the archive of servers since 2.15; nothing is consumed."""
    return unpacked.peek(len(MAGIC)).startswith(MAGIC)


def _in_blocks(unpacked: BinaryIO) -> Iterator[BackupMessage]:
    last, count = 0, 0
    for name, content in tar_files(unpacked):
        count += 1
        if name == _ERROR_FILE:
            words = content.read(500).decode(errors="replace")
            raise BackupProblem(f"the server could not read the whole stream: {words}", "see the server's log")
        if name.endswith(".blk"):
            for record in records(content.read(), name):
                if record.stream_seq > last:
                    last = record.stream_seq
                    yield record
    if not count:
        raise BackupProblem("the backup is empty", "take a new backup")


def tar_files(unpacked: BinaryIO) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each file in the tar of servers before 2.15. Raises BackupProblem."""
    import tarfile

    try:
        with tarfile.open(fileobj=unpacked, mode="r|") as tar:
            for member in tar:
                content = tar.extractfile(member)
                if content is None:
                    continue
                if member.size > _MAX_FILE:
                    raise BackupProblem(f"the backup is damaged: a file of {member.size} bytes", "take a new backup")
                yield member.name, content
    except tarfile.TarError as error:
        raise BackupProblem(f"the backup is damaged: {error}", "take a new backup") from None
