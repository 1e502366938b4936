"""Taking a backup: STREAM.SNAPSHOT into the files that `nats stream restore` reads."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from nats import errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from jsdoctor.remedy.backup.place import ARCHIVE, META, TAR, sync_dir, write_whole
from jsdoctor.remedy.backup.problem import BackupProblem
from jsdoctor.remedy.backup.unpack import is_archive
from jsdoctor.remedy.operation import Api

_CHUNK = 128 << 10
_LOOK_S = 0.1
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
    inbox = await api.client.subscribe(api.client.new_inbox(), pending_msgs_limit=0, pending_bytes_limit=0)
    part = directory / ".data.part"
    try:
        body = {"deliver_subject": inbox.subject, "chunk_size": _CHUNK}
        meta = await api.ask(f"STREAM.SNAPSHOT.{stream}", body)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            start = await _receive(api, inbox, file, stalled_s)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BackupProblem(f"cannot write {part}: {error.strerror}", "free space or name another place") from None
    finally:
        with suppress(errors.Error, OSError):
            await inbox.unsubscribe()
    part.replace(directory / (ARCHIVE if is_archive(start) else TAR))
    kept: dict[str, Any] = {key: meta[key] for key in ("config", "state")}
    write_whole(directory / META, msgspec.json.format(msgspec.json.encode(kept), indent=2))
    sync_dir(directory.parent)


async def _receive(api: Api, inbox: Subscription, file: BinaryIO, stalled_s: float) -> bytes:
    """Write the chunks as they come, acknowledging each; returns how they begin."""
    start = b""
    while True:
        chunk = await next_message(api, inbox, stalled_s)
        if not chunk.data:
            status = (chunk.headers or {}).get("Status", "204")
            if status != "204":
                words = (chunk.headers or {}).get("Description", "")
                raise BackupProblem(f"the server stopped the backup: {status} {words}", "run again; see its log")
            return start
        if len(start) < 2 * _CHUNK:
            start += chunk.data
        if chunk.reply:
            await api.client.publish(chunk.reply, b"")
        await asyncio.to_thread(file.write, chunk.data)


async def next_message(api: Api, inbox: Subscription, stalled_s: float) -> Msg:
    """The next message of the inbox. Raises BackupProblem when none comes for that long."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + stalled_s
    while loop.time() < deadline:
        try:
            return await inbox.next_msg(timeout=_LOOK_S)
        except errors.TimeoutError:
            if not api.client.is_connected:
                raise BackupProblem("the connection was lost", "run again") from None
        except (errors.Error, OSError) as error:
            raise BackupProblem(f"the connection was lost: {error}", "run again") from None
    raise BackupProblem(
        f"the server sent nothing for {stalled_s:g} s",
        "see whether the login may publish to $JS.SNAPSHOT.>, and the log of the stream's leader",
    )
