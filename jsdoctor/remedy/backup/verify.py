"""Compares a backup with its stream: every message of the stream must be in the backup, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from jsdoctor.remedy.backup.live import message_from
from jsdoctor.remedy.backup.message import BackupMessage
from jsdoctor.remedy.backup.place import NOTE, VerificationNote, data_file, read_meta, read_note, sha256_of, write_whole
from jsdoctor.remedy.backup.problem import BackupProblem
from jsdoctor.remedy.backup.unpack import messages
from jsdoctor.remedy.operation import Api

_AT_ONCE = 32
_NEW_BACKUP = "take a new backup; nothing was changed"


async def verify(api: Api, directory: Path) -> VerificationNote:
    """Compare, and write the result beside the backup. Raises BackupProblem if anything of the stream is missing.

    The stream may change meanwhile: messages stored after the backup are not compared, and messages removed since are
    counted. For each message of the backup, the stream is queried for the first message from the previous sequence on,
    so that a message that only the stream has is found as well.
    """
    import asyncio

    meta = read_meta(directory)
    stream, state = str(meta["config"]["name"]), meta["state"]
    first_seq, last_seq = int(state.get("first_seq", 0)), int(state.get("last_seq", 0))
    path = data_file(directory)
    digest, compared, removed, before = sha256(), 0, 0, first_seq - 1
    kept = (m for m in messages(path) if first_seq <= m.stream_seq <= last_seq)
    while group := await asyncio.to_thread(_group, kept):
        places = [before, *(message.stream_seq for message in group)]
        live = await asyncio.gather(*(message_from(api, stream, max(seq + 1, 1)) for seq in places[:-1]))
        before = places[-1]
        for ours, theirs in zip(group, live, strict=True):
            if _same(ours, theirs):
                digest.update(ours.digest())
                compared += 1
            else:
                removed += 1
    rest = await message_from(api, stream, max(before + 1, 1))
    if rest is not None and rest.stream_seq <= last_seq:
        raise BackupProblem(f"message {rest.stream_seq} of stream {stream} is not in the backup", _NEW_BACKUP)
    if compared + removed < int(state.get("messages", 0)):
        reported = f"the backup holds {compared + removed} messages, its server counted {state['messages']}"
        raise BackupProblem(reported, _NEW_BACKUP)
    note = VerificationNote(
        stream=stream,
        sha256=await asyncio.to_thread(sha256_of, path),
        messages=compared,
        removed=removed,
        first_seq=first_seq,
        last_seq=last_seq,
        digest=digest.hexdigest(),
    )
    write_whole(directory / NOTE, msgspec.json.format(msgspec.json.encode(note), indent=2))
    return note


def _group(kept: Iterator[BackupMessage]) -> list[BackupMessage]:
    return list(islice(kept, _AT_ONCE))


def _same(ours: BackupMessage, theirs: BackupMessage | None) -> bool:
    """Whether the stream still has this message. Raises BackupProblem if it has one that the backup lacks."""
    if theirs is None or theirs.stream_seq > ours.stream_seq:
        return False
    if theirs.stream_seq < ours.stream_seq:
        raise BackupProblem(f"message {theirs.stream_seq} of the stream is not in the backup", _NEW_BACKUP)
    if theirs.digest() != ours.digest():
        raise BackupProblem(f"message {ours.stream_seq} of the backup is not that of the stream", _NEW_BACKUP)
    return True


def require_verified(directory: Path) -> VerificationNote:
    """The note of a backup that was verified and is unchanged since. Raises BackupProblem where it is not."""
    note = read_note(directory)
    if note is None:
        raise BackupProblem(f"the backup in {directory} was never verified", "verify it, or take a new one")
    if sha256_of(data_file(directory)) != note.sha256:
        raise BackupProblem(f"{data_file(directory)} has changed since it was verified", "use another backup")
    return note
