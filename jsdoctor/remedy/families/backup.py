"""Backups before steps that could not be undone otherwise, and restoring a stream from one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.backup.files import BackupNote, BackupProblem, read_meta, require_verified, stream_dir
from jsdoctor.remedy.backup.former import (
    MAX_RESTORES,
    PUTTING_BACK,
    TAKEN,
    all_is_back,
    consumers_of,
    delete_stream,
    deletion_request,
    former_backup,
    is_putting_back,
    not_covered,
    place_of,
    put_back,
    refusal,
    restore_whole,
    state_difference,
)
from jsdoctor.remedy.backup.restore import info_of, is_whole, restore_request
from jsdoctor.remedy.backup.take import snapshot_request, take
from jsdoctor.remedy.operation import (
    Action,
    CannotPlanError,
    JournalNote,
    Operation,
    Standing,
    StepContext,
    StepRefusedError,
    Target,
    Values,
    shell_commands,
    show_command,
)

_PATIENCE_S = 600
_DELETING, _RESTORING = "deleting", "restoring"


async def back_up(run: StepContext, stream: str, *, again: bool = False) -> Json:
    """Take a verified backup of the stream beside the journal, or reuse that of an earlier run.
    `again`: take another one. Returns the backup's note without `consumers`, and its `directory`. Raises
    StepRefusedError if the backup fails.
    """
    for note in () if again else reversed(run.notes):
        if note.kind == TAKEN:
            with suppress(BackupProblem):
                directory = place_of(run, note)
                return _backup_data(directory, require_verified(directory))
    try:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        directory = stream_dir(run.directory, f"backup-{stream}", stamp)
        run.note(TAKEN, {"directory": str(directory)})
        run.say(f"backing stream {stream} up into {directory}")
        return _backup_data(directory, await take(run.api, stream, directory, account=run.step.subject.account))
    except BackupProblem as problem:
        raise refusal(problem) from None


def _backup_data(directory: Path, note: BackupNote) -> Json:
    data = {"directory": str(directory), **msgspec.to_builtins(note)}
    del data["consumers"]
    return data


class Backup(Operation):
    """A verified backup. Later steps need it; nothing of the stream changes."""

    name = "stream.backup"
    risk = step_risk = Risk.SAFE
    effect = "the stream is written to files beside the journal, and every message of it read"
    inverse = "nothing to take back: the files stay"
    patience_s = _PATIENCE_S

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """Into a directory of the stream's name, which must not exist."""
        return shell_commands(subject, "nats stream backup {name} backup-{name} --consumers")

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        """Only for a stream on disk: servers before 2.15 cannot back up one in memory, and the CLI restores none."""
        if target.stream is None and not target.config:
            raise CannotPlanError("its stream was not seen, so that no backup of it can be taken first")
        storage = target.stream.config.storage if target.stream else target.config.get("storage")
        if storage == "memory":
            raise CannotPlanError("no backup can be taken of a stream that is kept in memory")
        return (self.step(target),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """The inbox that chunks go to is made when it is sent."""
        return (snapshot_request(step.subject.name, "_INBOX.…"),)

    async def read_state(self, step: Step, api: Api) -> Json:
        """STREAM.INFO; only `missing` if there is no such stream."""
        return await info_of(api, step.subject.name)

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """As planned in any state: a backup holds the present stream."""
        if state.get("missing"):
            return Standing.DRIFTED, f"stream {step.subject.name} is gone"
        return Standing.AS_PLANNED, ""

    def replaced(self, step: Step, base: Json, state: Json, notes: tuple[JournalNote, ...]) -> str:
        """Empty once the backup is taken: a later stream of that name does not affect it."""
        return "" if any(note.kind == TAKEN for note in notes) else super().replaced(step, base, state, notes)

    async def write(self, run: StepContext, before: Json) -> Json:
        """STREAM.SNAPSHOT, then STREAM.MSG.GET for each message."""
        return await back_up(run, run.step.subject.name)

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Nothing: the write itself verifies the backup."""
        return ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Keep the backup."""


class Restore(Operation):
    """Restores a stream to its state in a verified backup, `values["backup"]`, and deletes the present one.

    Needs a backup of the present stream before it (`stream.backup`), from which a rollback restores that one.
    """

    name = "stream.restore"
    step_risk = Risk.DESTRUCTIVE
    preconditions = ()
    inverse = "the stream of before is restored from the backup that is taken first, unless messages came since"
    patience_s = _PATIENCE_S
    recreates = True

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """Values: `backup`, a directory. The present stream is deleted first, so back it up before."""
        if not (directory := values.get("backup")):
            return show_command(subject)
        return shell_commands(
            subject, "nats stream rm {name} -f", "nats stream restore {directory}", directory=directory
        )

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        """From a backup that jsdoctor has verified."""
        directory = str(values.get("backup") or "")
        if not directory:
            raise CannotPlanError("it needs backup, for example backup=/var/backups/ORDERS")
        name = target.subject.name
        effect = f"stream {name} is deleted and made again from {directory}: what was stored after that backup is lost"
        return (self.step(target, effect=effect, values={"backup": str(Path(directory).absolute())}),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """STREAM.DELETE, then STREAM.RESTORE, whose content is read from the backup when it is sent."""
        stream = step.subject.name
        return deletion_request(stream), restore_request(stream, {"config": {}, "state": {}})

    async def read_state(self, step: Step, api: Api) -> Json:
        """STREAM.INFO with its durable `consumers`; only `missing` if there is no such stream."""
        now = await info_of(api, step.subject.name)
        if not (now.get("state") or {}).get("consumer_count"):
            return now
        return {**now, "consumers": await consumers_of(api, step.subject.name)}

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """As planned in any state of the stream: it is backed up first."""
        return Standing.AS_PLANNED, ""

    def replaced(self, step: Step, base: Json, state: Json, notes: tuple[JournalNote, ...]) -> str:
        """After the deletion, the present stream is ours; its time of creation depends on the server version."""
        return "" if _was_deleted(notes) else super().replaced(step, base, state, notes)

    async def write(self, run: StepContext, before: Json) -> Json:
        """STREAM.DELETE where there is one, and STREAM.RESTORE until all of the backup is there."""
        try:
            return await self._restored(run, Path(str(run.step.values["backup"])))
        except BackupProblem as problem:
            raise refusal(problem) from None

    async def _restored(self, run: StepContext, directory: Path) -> Json:
        stream = run.step.subject.name
        note, meta = require_verified(directory), read_meta(directory)
        if meta["config"]["name"] != stream:
            raise StepRefusedError(f"{directory} is a backup of another stream")
        ours = _was_deleted(run.notes)
        replaced = _consumers_before(run)
        for attempt in range(MAX_RESTORES):
            now = await self.read_state(run.step, run.api)
            if not now.get("missing"):
                if ours and (now["state"]["messages"] or is_whole(now, meta)):
                    if await all_is_back(run.api, directory, note, replaced):
                        return _backup_data(directory, note)
                elif not ours and (moved := await not_covered(run, stream, now)):
                    if attempt == MAX_RESTORES - 1:
                        raise StepRefusedError(
                            f"stream {stream} changes while it is backed up ({moved}): stop its clients"
                        )
                    await back_up(run, stream, again=True)
                    replaced = _consumers_before(run)
                    continue
                run.note(_DELETING, {"created": now.get("created")})
                await delete_stream(run.api, stream)
            run.note(_RESTORING, {"directory": str(directory)})
            ours = True
            if await restore_whole(run.api, directory, note, replaced):
                return _backup_data(directory, note)
        raise StepRefusedError(
            f"servers did not restore all of the backup, {MAX_RESTORES} times; see the meta leader's log"
        )

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Wait for a stream that has a leader and the content of the backup."""
        if state.get("missing"):
            return "the stream is not there yet"
        try:
            meta = read_meta(Path(str(step.values["backup"])))
        except BackupProblem as problem:
            raise refusal(problem) from None
        return "" if is_whole(state, meta) else f"the stream has {state['state']['messages']} messages so far"

    async def undo(self, run: StepContext, before: Json) -> None:
        """Restore the former stream from the backup that was taken first, unless messages were stored since."""
        step, stream = run.step, run.step.subject.name
        now = await self.read_state(step, run.api)
        if not any(note.kind in (_DELETING, _RESTORING) for note in run.notes):
            return
        if not now.get("missing") and not is_putting_back(run.notes):
            if not _was_deleted(run.notes) and not super().replaced(step, before, now, run.notes):
                return  # it was never deleted
            if reason := _stored_since(step, now):
                raise StepRefusedError(reason)
        if not before.get("missing"):
            await put_back(run, stream)
        elif not now.get("missing"):
            run.note(PUTTING_BACK, {})
            await delete_stream(run.api, stream)

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """Configuration, messages and consumers as they were before."""
        return state_difference(before, state)


def _consumers_before(run: StepContext) -> Json | None:
    """The recorded consumers of the stream that is replaced, from its own backup; None if there is none."""
    try:
        return former_backup(run)[1].consumers
    except StepRefusedError:
        return None


def _was_deleted(notes: Iterable[JournalNote]) -> bool:
    return any(note.kind == _RESTORING for note in notes)


def _stored_since(step: Step, now: Json) -> str:
    """Why the restored stream must not be deleted, as text."""
    last = now["state"]["last_seq"]
    try:
        wanted = int(read_meta(Path(str(step.values["backup"])))["state"].get("last_seq", 0))
    except BackupProblem as problem:
        return f"whether messages were stored since the restore is not known: {problem}"
    if last <= wanted:
        return ""
    return f"{last - wanted} messages were stored since the restore ({wanted + 1} to {last}), and would be lost"


ACTIONS: tuple[Action, ...] = (Backup(), Restore())
