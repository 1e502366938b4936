"""What a rollback needs and nobody else may see: states before, with the texts of users, beside the journal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from jsdoctor.model.plan import Json
from jsdoctor.model.typed import decode_as


class _PrivateLine(msgspec.Struct, frozen=True):
    step: str
    before: Json


class Private:
    """`JOURNAL.private`, readable by its owner only; made when the first line is kept."""

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(f"{journal.name}.private")

    def keep(self, step: str, before: Json) -> None:
        """Add the state before a step; it is on the disk when this returns. Raises OSError."""
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as file:
            if sys.platform != "win32":
                os.fchmod(file.fileno(), 0o600)
            # The line before may have been cut off by a crash.
            file.write(b"\n" + msgspec.json.encode(_PrivateLine(step, before)) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> list[tuple[str, Json]]:
        """Step and state before of each whole line; empty where there is no such file."""
        try:
            content = self.path.read_bytes()
        except OSError:
            return []
        result = []
        for line in content.splitlines():
            try:
                kept = decode_as(line, _PrivateLine)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue
            result.append((kept.step, kept.before))
        return result
