"""Taking a backup: STREAM.SNAPSHOT into the files of `nats stream backup`, and what proves that it is whole.

Single messages are read through STREAM.MSG.GET, which works on every stream and changes none.
"""

from __future__ import annotations

import binascii
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from jsdoctor.model.plan import Json, Request
from jsdoctor.remedy.api import Api, ApiError, Inbox, InboxMessage, LostError
from jsdoctor.remedy.backup.files import (
    ARCHIVE,
    META,
    NOTE,
    TAR,
    BackupNote,
    BackupProblem,
    sha256_of,
    sync_dir,
    write_whole,
)
from jsdoctor.remedy.replies import date_ns

_NO_MESSAGE = 10037
_CHUNK = 128 << 10
STALLED_S = 30.0
"""For how long nothing may come. Servers give up after two to five seconds without our acknowledgement."""
_ARCHIVE_MAGIC = b"NATSARC1"
_HEADER_BYTES = 64
_PARALLEL_READS = 32
_POSITIONS = ("delivered", "ack_floor")
_RETRY_HINT = "take a new backup; nothing was changed"


class LiveMessage(NamedTuple):
    """A message: its place in the stream, its date in nanoseconds since 1970, and all of its bytes."""

    stream_seq: int
    date_ns: int
    subject: bytes
    headers: bytes
    payload: bytes


def get_request(stream: str, stream_seq: int, subjects: str = ">") -> Request:
    """STREAM.MSG.GET of the first message of that sequence or a later one, with such a subject."""
    return Request(f"STREAM.MSG.GET.{stream}", {"seq": stream_seq, "next_by_subj": subjects})


async def message_from(api: Api, stream: str, stream_seq: int) -> LiveMessage | None:
    """The first message of that sequence or a later one; None where there is none. Raises what `api` raises."""
    try:
        request = get_request(stream, stream_seq)
        result = (await api.ask(request.subject, request.payload))["message"]
        return decoded(result)
    except ApiError as refused:
        if refused.err_code == _NO_MESSAGE:
            return None
        raise
    except (KeyError, TypeError, ValueError):
        raise BackupProblem(f"STREAM.MSG.GET.{stream}: the reply is not a message", "look at the stream") from None


def decoded(result: dict[str, Any]) -> LiveMessage:
    """The message in a reply to STREAM.MSG.GET. Raises KeyError, TypeError or ValueError where it is none."""
    headers, payload = (binascii.a2b_base64(result.get(key, "")) for key in ("hdrs", "data"))
    return LiveMessage(int(result["seq"]), date_ns(result["time"]), result["subject"].encode(), headers, payload)


async def take(
    api: Api, stream: str, directory: Path, stalled_s: float = STALLED_S, *, account: str = ""
) -> BackupNote:
    """Back up the stream and its consumers into the directory, which exists and is empty.

    Every message must be readable, every chunk must arrive, and no durable consumer may be left out. `backup.json` and
    the note are written last: a directory without them holds no backup. Raises BackupProblem and what `api` raises. A
    stream in memory cannot be backed up by servers before 2.15, nor restored by the `nats` command.
    """
    import asyncio

    info = await api.ask(f"STREAM.INFO.{stream}")
    if info["config"].get("storage") == "memory":
        raise BackupProblem(
            f"stream {stream} is kept in memory: servers before 2.15 cannot back such a stream up",
            "mirror it into a stream on disk first, or do without what would need the backup",
        )
    consumers = await all_consumers(api, stream) if info["state"].get("consumer_count") else []
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
    # S2 stores the first bytes uncompressed, since nothing precedes them that they could repeat.
    is_archive = _ARCHIVE_MAGIC in start[:_HEADER_BYTES]
    await _require_readable(api, stream, meta["state"])
    if not is_archive and (absent := ", ".join(_left_out(consumers, info))):
        raise BackupProblem(
            f"the backup of stream {stream} lacks its consumers {absent}: servers before 2.15 back up only those whose "
            "state is on the disk of the stream's leader",
            "give them the replicas of the stream (nats consumer edit --replicas), or recreate them on disk",
        )
    path = directory / (ARCHIVE if is_archive else TAR)
    part.replace(path)
    kept: dict[str, Any] = {key: meta[key] for key in ("config", "state")}
    write_whole(directory / META, msgspec.json.format(msgspec.json.encode(kept), indent=2))
    note = BackupNote(
        stream=stream,
        account=account,
        sha256=await asyncio.to_thread(sha256_of, path),
        **{key: int(meta["state"].get(key) or 0) for key in ("messages", "first_seq", "last_seq")},
        consumers=durables(consumers),
    )
    write_whole(directory / NOTE, msgspec.json.format(msgspec.json.encode(note), indent=2))
    sync_dir(directory.parent)
    return note


def snapshot_request(stream: str, chunks_to: str) -> Request:
    """STREAM.SNAPSHOT of the stream and its consumers, in chunks to that subject.

    Never with `jsck`, which `nats stream backup --check` sets: servers before 2.15 cut a block file off at the first
    damaged message, and delete those behind it (seen with 2.10.26 and 2.12.8: 199 of 397 readable ones).
    """
    return Request(f"STREAM.SNAPSHOT.{stream}", {"deliver_subject": chunks_to, "chunk_size": _CHUNK})


async def _require_readable(api: Api, stream: str, state: Json) -> None:
    """Read every message of the backup's range. Raises BackupProblem where the server counts one that it cannot read.

    Since 2.15 a server silently skips a damaged message; before, it copies block files as they are, and cuts them
    off there when they are restored. What is removed meanwhile only lowers what must be readable.
    """
    import asyncio

    first, last = int(state.get("first_seq") or 0), int(state.get("last_seq") or 0)
    step = max(1, -(-(last - first + 1) // _PARALLEL_READS))
    parts = (
        _count_readable(api, stream, seq, min(seq + step - 1, last)) for seq in range(max(first, 1), last + 1, step)
    )
    readable = sum(await asyncio.gather(*parts))
    now = (await api.ask(f"STREAM.INFO.{stream}"))["state"]
    if (lacking := now["messages"] - (now["last_seq"] - last) - readable) > 0:
        raise BackupProblem(
            f"{lacking} of the {now['messages']} messages of stream {stream} cannot be read, so that the backup lacks "
            "them: the store of the stream's leader is damaged",
            "let another server lead the stream, or copy what can be read into a new stream; nothing was changed",
        )


async def _count_readable(api: Api, stream: str, first: int, last: int) -> int:
    count = 0
    while first <= last and (message := await message_from(api, stream, first)) and message.stream_seq <= last:
        count, first = count + 1, message.stream_seq + 1
    return count


async def all_consumers(api: Api, stream: str) -> list[Json]:
    """CONSUMER.LIST, all pages: one CONSUMER.INFO each."""
    consumers: list[Json] = []
    while True:
        page = await api.ask(f"CONSUMER.LIST.{stream}", {"offset": len(consumers)})
        listed = page.get("consumers") or []
        consumers += listed
        if not listed or len(consumers) >= int(page.get("total") or 0):
            return consumers


def durables(consumers: Iterable[Json]) -> dict[str, Json]:
    """Configuration and position of each durable consumer, by name."""
    return {
        info["name"]: {"config": info["config"], **{place: pair(info, place) for place in _POSITIONS}}
        for info in consumers
        if (info.get("config") or {}).get("durable_name")
    }


def pair(info: Json, place: str) -> Json:
    """`delivered` or `ack_floor` without the times."""
    return {key: int((info.get(place) or {}).get(key, 0)) for key in ("stream_seq", "consumer_seq")}


def _left_out(consumers: Iterable[Json], stream: Json) -> list[str]:
    """Durable consumers that a backup of servers before 2.15 lacks (nats-server#7829).

    These write those that the stream's leader has on its disk: none in memory, and none of one replica elsewhere.
    """
    leader = (stream.get("cluster") or {}).get("leader")
    return [
        str(info["name"])
        for info in consumers
        if (config := info["config"]).get("durable_name")
        and (
            config.get("mem_storage")
            or (config.get("num_replicas") == 1 and (info.get("cluster") or {}).get("leader") != leader)
        )
    ]


async def _receive(api: Api, inbox: Inbox, file: BinaryIO, stalled_s: float) -> bytes:
    """Write the chunks to the file and acknowledge each; returns the first chunk."""
    import asyncio

    start, count = b"", 0
    while True:
        chunk = await next_message(inbox, stalled_s)
        if not chunk.data:
            status = chunk.headers.get("Status", "204")
            if status != "204" or not count:
                words = chunk.headers.get("Description", "")
                raise BackupProblem(f"the server stopped the backup: {status} {words}", "run again; see its log")
            return start
        count += 1
        start = start or chunk.data
        if chunk.reply:  # it ends in the number of the chunk; the last one may have no reply
            if (number := chunk.reply.rpartition(".")[2]).isdigit() and int(number) != count:
                raise BackupProblem(f"chunk {count} of the backup did not arrive", _RETRY_HINT)
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
