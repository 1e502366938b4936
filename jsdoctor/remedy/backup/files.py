"""The files of a backup, named as the `nats` command names them, and what jsdoctor notes beside them."""

from __future__ import annotations

import os
import re
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Any

import msgspec

from jsdoctor.model.typed import decode_as


class BackupProblem(Exception):  # noqa: N818 - as other problems: it is the user's, not an error of ours
    """What went wrong, in one sentence, and in `hint` what to do about it. Text of servers in it is not escaped."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


META = "backup.json"
ARCHIVE, TAR = "stream.arc.s2", "stream.tar.s2"
NOTE = "jsdoctor.json"
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_UNREADABLE = (OSError, msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 62))]


class BackupNote(msgspec.Struct, frozen=True, kw_only=True):
    """What jsdoctor notes beside a backup after it has verified that every message was readable and arrived.

    `account` owns the stream; empty if it was not known. `sha256` is that of the data file. `messages`, `first_seq` and
    `last_seq` are as the server counted them. `consumers` has configuration, `delivered` and `ack_floor` of each
    durable one by name, right before the backup.
    """

    stream: str
    account: str = ""
    sha256: str
    messages: int
    first_seq: int
    last_seq: int
    consumers: dict[str, dict[str, Any]]


def stream_dir(parent: Path, stream: str, stamp: str) -> Path:
    """A new directory for a backup of that stream, for its owner only. Raises BackupProblem."""
    directory = parent / f"{_UNSAFE_IN_NAME.sub('_', stream)}-{stamp}"  # a name comes from a server
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.mkdir(mode=0o700)
    except OSError as error:
        raise BackupProblem(
            f"cannot make {directory}: {error.strerror}", "keep the journal in another directory: --journal DIR/FILE"
        ) from None
    return directory


def data_file(directory: Path) -> Path:
    """The file with the messages. Raises BackupProblem where there is none, or two."""
    paths = [directory / name for name in (ARCHIVE, TAR) if (directory / name).is_file()]
    if len(paths) != 1:
        raise BackupProblem(
            f"{directory} holds {len(paths)} of {ARCHIVE} and {TAR}, not one", "name the directory of a backup"
        )
    return paths[0]


class _BackupConfig(msgspec.Struct):
    name: str


class _BackupState(msgspec.Struct):
    messages: _Count = 0
    first_seq: _Count = 0
    last_seq: _Count = 0


class _Meta(msgspec.Struct):
    """What must be right in `backup.json` for a backup to be used."""

    config: _BackupConfig
    state: _BackupState


def read_meta(directory: Path) -> dict[str, Any]:
    """Configuration and state of the stream as its server gave them with the backup. Raises BackupProblem."""
    try:
        content = (directory / META).read_bytes()
        decode_as(content, _Meta)
        meta: dict[str, Any] = msgspec.json.decode(content)
        msgspec.json.encode(meta)  # it is sent to the server
    except _UNREADABLE:
        raise BackupProblem(
            f"{directory / META} cannot be read as a backup's", "name the directory of a whole backup"
        ) from None
    return meta


def read_note(directory: Path) -> BackupNote | None:
    """What jsdoctor noted when the backup was complete; None where it did not, or the note is damaged."""
    try:
        return decode_as((directory / NOTE).read_bytes(), BackupNote)
    except _UNREADABLE:
        return None


def require_verified(directory: Path) -> BackupNote:
    """The note of a backup that is complete and unchanged since. Raises BackupProblem where it is not."""
    note = read_note(directory)
    if note is None:
        raise BackupProblem(f"the backup in {directory} was never verified", "take a new one: action stream.backup")
    if sha256_of(data_file(directory)) != note.sha256:
        raise BackupProblem(f"{data_file(directory)} has changed since it was verified", "use another backup")
    return note


def sha256_of(path: Path) -> str:
    """The digest of a file. Raises BackupProblem."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BackupProblem(f"cannot read {path}: {error.strerror}", "use another backup") from None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only; it is on disk when this returns."""
    part = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_dir(path.parent)


def sync_dir(directory: Path) -> None:
    """Sync a directory, so that the names of its new files are on disk when this returns."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
