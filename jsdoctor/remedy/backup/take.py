"""Taking a backup: STREAM.SNAPSHOT into the files that `nats stream restore` reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from jsdoctor.model.plan import Request
from jsdoctor.remedy.backup.place import ARCHIVE, META, TAR, sync_dir, write_whole
from jsdoctor.remedy.backup.problem import BackupProblem
from jsdoctor.remedy.backup.unpack import is_archive
from jsdoctor.remedy.operation import Api, Inbox, InboxMessage, LostError

_CHUNK = 128 << 10
STALLED_S = 30.0
"""For how long nothing may come. Servers give up after two to five seconds without our acknowledgement."""


async def take(api: Api, stream: str, directory: Path, stalled_s: float = STALLED_S) -> None:
    """Back the stream and its consumers up into the directory, which is there and empty.

    `backup.json` is written last: a directory without it holds no backup. Raises BackupProblem and what `api` raises.
    A stream in memory cannot be backed up by servers before 2.15, nor restored by the `nats` command.
    """
    config = (await api.ask(f"STREAM.INFO.{stream}"))["config"]
    if config.get("storage") == "memory":
        raise BackupProblem(
            f"stream {stream} is kept in memory: servers before 2.15 cannot back such a stream up",
            "mirror it into a stream on disk first, or do without what would need the backup",
        )
    inbox = await api.inbox()
    part = directory / ".data.part"
    try:
        request = snapshot_request(stream, inbox.subject)
        meta = await api.ask(request.subject, request.payload)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            start = await _receive(api, inbox, file, stalled_s)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BackupProblem(f"cannot write {part}: {error.strerror}", "free space or name another place") from None
    finally:
        await inbox.close()
    part.replace(directory / (ARCHIVE if is_archive(start) else TAR))
    kept: dict[str, Any] = {key: meta[key] for key in ("config", "state")}
    write_whole(directory / META, msgspec.json.format(msgspec.json.encode(kept), indent=2))
    sync_dir(directory.parent)


def snapshot_request(stream: str, chunks_to: str) -> Request:
    """STREAM.SNAPSHOT of the stream and its consumers, in chunks to that subject."""
    return Request(f"STREAM.SNAPSHOT.{stream}", {"deliver_subject": chunks_to, "chunk_size": _CHUNK})


async def _receive(api: Api, inbox: Inbox, file: BinaryIO, stalled_s: float) -> bytes:
    """Write the chunks as they come, acknowledging each; returns how they begin."""
    import asyncio

    start = b""
    while True:
        chunk = await next_message(inbox, stalled_s)
        if not chunk.data:
            status = chunk.headers.get("Status", "204")
            if status != "204":
                words = chunk.headers.get("Description", "")
                raise BackupProblem(f"the server stopped the backup: {status} {words}", "run again; see its log")
            return start
        if len(start) < 2 * _CHUNK:
            start += chunk.data
        if chunk.reply:
            await api.publish(chunk.reply, b"")
        await asyncio.to_thread(file.write, chunk.data)


async def next_message(inbox: Inbox, stalled_s: float) -> InboxMessage:
    """The next message of the inbox. Raises BackupProblem when none comes for that long."""
    try:
        message = await inbox.next(stalled_s)
    except LostError as error:
        raise BackupProblem(str(error), "run again") from None
    if message is None:
        raise BackupProblem(
            f"the server sent nothing for {stalled_s:g} s",
            "see whether the login may publish to $JS.SNAPSHOT.>, and the log of the stream's leader",
        )
    return message
