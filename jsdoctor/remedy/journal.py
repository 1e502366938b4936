"""The journal of a fix: the state before each write, on disk before the write is sent.

One JSON object per line (`jsdoctor.journal/v1`). The first is the plan; then, for each step, `begin` with the state
before, `note`s of its operation, `written`, and the result. Each line is synced to the disk before `append` returns, so
after a crash at any point the last line bounds what may have happened since. No action follows a last line that is cut
off; it is removed when the journal is opened again.
"""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import msgspec

from jsdoctor.model.plan import Json, Plan, Request, Step
from jsdoctor.model.typed import decode_as
from jsdoctor.redaction.raw_configs import is_withheld, without_user_texts
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.remedy.backup.files import sync_dir
from jsdoctor.remedy.operation import JournalNote

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

SCHEMA = "jsdoctor.journal/v1"


class JournalError(Exception):
    """A journal that cannot be written, read or used: message and hint are for the user."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class JournalEvent(StrEnum):
    """The kind of a line. `BEGIN` is written before the first write of a step, `WRITTEN` after the last."""

    PLAN = "plan"
    BEGIN = "begin"
    NOTE = "note"
    WRITTEN = "written"
    VERIFIED = "verified"
    UNPROVED = "unproved"
    NOT_BETTER = "not_better"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNDO = "undo"
    UNDONE = "undone"
    NOT_UNDONE = "not_undone"


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One line. `before` with BEGIN, `plan` with PLAN, `kind` and `data` with NOTE; `text` is the reason as text."""

    event: JournalEvent
    at: datetime
    step: str = ""
    text: str = ""
    before: Json | None = None
    kind: str = ""
    data: Json | None = None
    plan: Plan | None = None
    schema: str = ""
    allowed: tuple[str, ...] = ()


class Past(msgspec.Struct, frozen=True):
    """The journal of one step. `before` is the state before its first write; None: it was never begun.

    `failure` is the error of its last attempt.
    """

    last: JournalEvent | None = None
    before: Json | None = None
    notes: tuple[JournalNote, ...] = ()
    text: str = ""
    failure: str = ""

    @property
    def is_over(self) -> bool:
        """Whether a resumed fix has nothing left to do. A step that could not be proved can be examined again."""
        return self.last in (JournalEvent.VERIFIED, JournalEvent.UNDONE)

    @property
    def may_have_written(self) -> bool:
        """Whether a rollback has to examine the step."""
        return self.before is not None and self.last not in (JournalEvent.UNDONE, None)


class Journal:
    """An open journal, locked against a second process. `create` makes a new one, `reopen` continues one."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle
        self._private = PrivateStates(path)
        self._size = 0
        self._entries: list[JournalEntry] = []

    @classmethod
    def create(cls, path: Path, plan: Plan, allowed: tuple[str, ...]) -> Self:
        """A new file with the plan in it; the file must not exist. Raises JournalError."""
        require_locks()
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except FileExistsError:
            raise JournalError(
                f"there is a journal already: {path}",
                "go on with it: jsdoctor fix --resume --journal FILE; or name another",
            ) from None
        except OSError as error:
            raise JournalError(
                f"cannot write the journal {path}: {error.strerror}", "choose another --journal"
            ) from None
        journal = cls(path, handle)
        try:
            journal._lock()
            journal.append(JournalEvent.PLAN, plan=plan, schema=SCHEMA, allowed=allowed)
            sync_dir(path.parent)
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """An existing journal, to resume or to roll back. Raises JournalError."""
        require_locks()
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise JournalError(f"cannot open the journal {path}: {error.strerror}", "check its name") from None
        journal = cls(path, handle)
        try:
            journal._lock()
            journal._read()
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, event: JournalEvent, step: Step | None = None, text: str = "", **more: Any) -> None:
        """Add a line; it is on the disk when this returns. Raises JournalError: then nothing may be written.

        Texts of users stay out of it; where the state before has any, the whole of it goes into the private file first.
        """
        entry = JournalEntry(event=event, at=datetime.now(UTC), step=step.id if step else "", text=text, **more)
        shown = _shareable(entry)
        if step and entry.before is not None and is_withheld(shown.before):
            try:
                self._private.keep(step.id, entry.before)
            except OSError as error:
                message = f"cannot write {self._private.path}: {error.strerror}"
                raise JournalError(message, "nothing more was changed; make room, then --resume") from None
        line = msgspec.json.encode(shown) + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
            os.fsync(self._handle)
            self._size += len(line)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._size)  # half a line would spoil the next one
            message = f"cannot write the journal {self.path}: {error.strerror}"
            raise JournalError(message, "nothing more was changed; make room, then --resume") from None
        self._entries.append(entry)

    @property
    def plan(self) -> Plan:
        """The plan of the journal."""
        plan = self._entries[0].plan
        if plan is None:
            raise AssertionError("a journal begins with its plan")
        return plan

    @property
    def allowed(self) -> tuple[str, ...]:
        """The risks that were allowed when it was begun."""
        return self._entries[0].allowed

    def past(self, step: Step) -> Past:
        """What happened to a step so far."""
        past = Past()
        for entry in self._entries:
            if entry.step != step.id:
                continue
            if entry.event is JournalEvent.NOTE:
                notes = (*past.notes, JournalNote(entry.kind, entry.data or {}))
                past = msgspec.structs.replace(past, notes=notes)
                continue
            # A step that was undone and is begun again starts from what is there then.
            keep = past.before if past.last is not JournalEvent.UNDONE else None
            before = entry.before if entry.event is JournalEvent.BEGIN and keep is None else past.before
            failure = {JournalEvent.BEGIN: "", JournalEvent.FAILED: entry.text}.get(entry.event, past.failure)
            past = msgspec.structs.replace(past, last=entry.event, text=entry.text, before=before, failure=failure)
        return past

    def close(self) -> None:
        """Close the file and release its lock."""
        with contextlib.suppress(OSError):
            os.close(self._handle)

    @staticmethod
    def _with_private_state(entry: JournalEntry, kept: list[tuple[str, Json]]) -> JournalEntry:
        """The line with the full state before, texts of users included, if the private file has it."""
        if entry.before is None or not is_withheld(entry.before):
            return entry
        states = (before for step, before in kept if step == entry.step and without_user_texts(before) == entry.before)
        return msgspec.structs.replace(entry, before=next(states, entry.before))

    def _lock(self) -> None:
        try:
            if sys.platform != "win32":  # require_locks has refused it
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalError(f"another jsdoctor works with the journal {self.path}", "wait until it ends") from None

    def _read(self) -> None:
        content = b"".join(iter(lambda: os.read(self._handle, 1 << 20), b""))
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._entries.append(decode_as(line, JournalEntry))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise JournalError(
                    f"{self.path}:{number}: not a line of a journal: {error}", _WRONG_FILE_HINT
                ) from None
        self._entries = [self._with_private_state(entry, self._private.read()) for entry in self._entries]
        self._size = len(whole)
        if not whole:
            raise JournalError(f"{self.path} holds no plan: nothing was changed under it", "delete it and start again")
        if self._entries[0].plan is None or self._entries[0].schema != SCHEMA:
            raise JournalError(f"{self.path} is no journal of jsdoctor ({SCHEMA})", _WRONG_FILE_HINT)
        if len(whole) < len(content):
            os.ftruncate(self._handle, len(whole))


def _shareable(entry: JournalEntry) -> JournalEntry:
    """The line as it may be shown: see ADR 0019."""
    plan = shareable(entry.plan) if entry.plan else None
    before, data, text = without_user_texts(entry.before), without_user_texts(entry.data), scrub_line(entry.text)
    return msgspec.structs.replace(entry, before=before, data=data, text=text, plan=plan)


_WRONG_FILE_HINT = "give the file that jsdoctor fix --journal wrote; without its plan line nothing can be done with it"


def require_locks() -> None:
    """Raise JournalError if file locks are not available: no journal can then be created or reopened."""
    if fcntl is None:
        raise JournalError(
            "this system has no POSIX file locks, which keep two processes from changing the same deployment",
            "run jsdoctor fix --apply and rollback on Linux or macOS; check and fix without --apply work here",
        )


class _PrivateLine(msgspec.Struct, frozen=True):
    step: str
    before: Json


class PrivateStates:
    """`JOURNAL.private`: states before steps with texts of users. For its owner only; made with its first line."""

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


def shareable(plan: Plan) -> Plan:
    """The plan without texts of users in its configurations. It can be carried out as before: no step sends those."""
    return scrubbed(msgspec.structs.replace(plan, steps=tuple(map(_step, plan.steps))))


def _step(step: Step) -> Step:
    return msgspec.structs.replace(
        step,
        base=without_user_texts(step.base),
        values=without_user_texts(step.values),
        requests=tuple(map(_request, step.requests)),
        undo=tuple(map(_request, step.undo)),
    )


def _request(request: Request) -> Request:
    return msgspec.structs.replace(request, payload=without_user_texts(request.payload))
