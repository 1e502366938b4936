"""Block files of the file store, as backups of servers before 2.15 hold them (server `filestore.go`)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from jsdoctor.remedy.backup.message import BackupMessage
from jsdoctor.remedy.backup.problem import BackupProblem

_HEAD = struct.Struct("<IQqH")
_HASH_SIZE = 8
_HAS_HEADERS = 1 << 31
_ERASED, _TOMBSTONE = 1 << 63, 1 << 62


def records(block: bytes, name: str) -> Iterator[BackupMessage]:
    """Its messages. Erased ones and the marks of deleted ones are left out. Raises BackupProblem.

    A record: length, sequence, date, length of the subject; subject; with headers their length and they; the message;
    a hash of 8 bytes (writeMsgRecordLocked). What was deleted without being erased is still there.
    """
    at = 0
    while at < len(block):
        if at + _HEAD.size > len(block):
            raise _damaged(name, at)
        length, stream_seq, date_ns, subject_length = _HEAD.unpack_from(block, at)
        has_headers = bool(length & _HAS_HEADERS)
        length &= ~_HAS_HEADERS
        end = at + length - _HASH_SIZE
        start = at + _HEAD.size + subject_length
        if start + 4 * has_headers > end or at + length > len(block):
            raise _damaged(name, at)
        if not stream_seq & (_ERASED | _TOMBSTONE) and stream_seq:
            subject, headers = block[start - subject_length : start], b""
            if has_headers:
                size = int.from_bytes(block[start : start + 4], "little")
                headers = block[start + 4 : start + 4 + size]
                start += 4 + size
                if start > end:
                    raise _damaged(name, at)
            yield BackupMessage(stream_seq, date_ns, subject, headers, block[start:end])
        at += length


def _damaged(name: str, at: int) -> BackupProblem:
    return BackupProblem(f"the backup is damaged: {name} at byte {at}", "take a new backup")
