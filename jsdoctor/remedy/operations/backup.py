"""Backing a stream up, and restoring one from a backup."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import msgspec

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.backup.live import same_moment
from jsdoctor.remedy.backup.place import Note as Verified
from jsdoctor.remedy.backup.place import read_meta, stream_dir
from jsdoctor.remedy.backup.problem import BackupProblem
from jsdoctor.remedy.backup.restore import EmptyProblem, is_whole, restore
from jsdoctor.remedy.backup.take import take
from jsdoctor.remedy.backup.verify import require_verified, verify
from jsdoctor.remedy.operation import Api, ApiError, Note, Operation, RefusedError, Run, Standing, register
from jsdoctor.remedy.patience import Patience, look

STREAM_NOT_FOUND = 10059
_TRIES, _WHOLE_S = 4, 60
_DIRECTORY, _RESTORING = "backup", "restoring"


async def back_up(run: Run, stream: str) -> Json:
    """A backup of the stream beside the journal, every message of it compared; one of an earlier run is taken again.

    Returns what was found, with `directory`. Raises RefusedError where it cannot be had.
    """
    for note in reversed(run.notes):
        if note.kind == _DIRECTORY:
            with suppress(BackupProblem):
                return _told(Path(note.data["directory"]), require_verified(Path(note.data["directory"])))
    try:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        directory = stream_dir(run.directory, f"backup-{stream}", stamp)
        run.note(_DIRECTORY, {"directory": str(directory)})
        run.say(f"backing stream {stream} up into {directory}")
        await take(run.api, stream, directory)
        run.say("comparing every message of the backup with the stream")
        return _told(directory, await verify(run.api, directory))
    except BackupProblem as problem:
        raise RefusedError(f"{problem}: {problem.hint}" if problem.hint else str(problem)) from None


def _told(directory: Path, found: Verified) -> Json:
    return {"directory": str(directory), **msgspec.to_builtins(found)}


def _was_deleted(notes: Iterable[Note]) -> bool:
    return any(note.kind == _RESTORING for note in notes)


class Backup(Operation):
    """A verified backup. Later steps need it; nothing of the stream changes."""

    name: ClassVar[str] = "stream.backup"

    async def look(self, step: Step, api: Api) -> Json:
        """STREAM.INFO."""
        return await api.ask(f"STREAM.INFO.{step.subject.name}")

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """A backup is of the stream as it is, whatever was planned on."""
        del step, state
        return Standing.AS_PLANNED, ""

    async def write(self, run: Run, before: Json) -> Json:
        """STREAM.SNAPSHOT, then STREAM.MSG.GET for each message."""
        del before
        return await back_up(run, run.step.subject.name)

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Nothing: it was verified when it was written."""
        del step, before, state
        return ""

    async def undo(self, run: Run, before: Json) -> None:
        """A backup stays where it is."""


class Restore(Operation):
    """Puts a stream back as it was in a verified backup, `values["backup"]`, and deletes the one that is there.

    Needs a backup of the present stream before it: see `stream.backup`.
    """

    name: ClassVar[str] = "stream.restore"

    async def look(self, step: Step, api: Api) -> Json:
        """STREAM.INFO; nothing but `missing` where there is no such stream."""
        try:
            return await api.ask(f"STREAM.INFO.{step.subject.name}")
        except ApiError as error:
            if error.err_code == STREAM_NOT_FOUND:
                return {"missing": True}
            raise

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """The stream must be the one that was planned on, or not be there."""
        if state.get("missing"):
            return Standing.AS_PLANNED, ""
        planned, now = step.base.get("created"), str(state.get("created"))
        if planned and not same_moment(planned, now):
            return Standing.DRIFTED, f"the stream was made anew at {now}"
        return Standing.AS_PLANNED, ""

    def interrupted(self, step: Step, before: Json, state: Json, notes: tuple[Note, ...]) -> tuple[Standing, str]:
        """What is there once it was deleted is ours, whenever it was created: servers differ in what they say."""
        del before
        return (Standing.AS_PLANNED, "") if _was_deleted(notes) else self.standing(step, state)

    async def write(self, run: Run, before: Json) -> Json:
        """STREAM.DELETE where there is one, STREAM.RESTORE, and every message compared."""
        del before
        try:
            return await self._restored(run, Path(str(run.step.values["backup"])))
        except BackupProblem as problem:
            raise RefusedError(f"{problem}: {problem.hint}" if problem.hint else str(problem)) from None

    async def _restored(self, run: Run, directory: Path) -> Json:
        stream = run.step.subject.name
        require_verified(directory)
        meta = read_meta(directory)
        if meta["config"]["name"] != stream:
            raise RefusedError(f"{directory} is a backup of another stream")
        ours = _was_deleted(run.notes)
        for _ in range(_TRIES):
            now = await self.look(run.step, run.api)
            if not now.get("missing"):
                if ours and (now["state"]["messages"] or is_whole(now, meta)):
                    return await self._compared(run, directory)
                run.note("deleting", {"created": now.get("created")})
                await run.api.ask(f"STREAM.DELETE.{stream}")
            run.note(_RESTORING, {"directory": str(directory)})
            ours = True
            with suppress(EmptyProblem):
                await restore(run.api, directory)
                return await self._compared(run, directory)
        raise RefusedError(f"the servers did not take the backup, {_TRIES} times; see the log of the meta leader")

    async def _compared(self, run: Run, directory: Path) -> Json:
        """Once it is whole, which takes a leader."""
        meta, patience = read_meta(directory), Patience(_WHOLE_S)
        while not is_whole(now := await look(self, run.step, run.api, patience), meta):
            if not await patience.more():
                have = (now.get("state") or {}).get("messages", 0)
                raise RefusedError(f"{have} of {meta['state']['messages']} messages are there: it is not that backup")
        return _told(directory, await verify(run.api, directory))

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """A stream that is led and has what the backup has."""
        del before
        if state.get("missing"):
            return "the stream is not there yet"
        meta = read_meta(Path(str(step.values["backup"])))
        return "" if is_whole(state, meta) else f"the stream has {state['state']['messages']} messages so far"

    async def undo(self, run: Run, before: Json) -> None:
        """The stream of before is in the backup that was taken first; what was stored since would be lost."""
        del before
        raise RefusedError(
            f"stream {run.step.subject.name} was restored; the one of before is in the backup that was taken first: "
            "delete this one and restore that with nats stream restore DIRECTORY"
        )


register(Backup())
register(Restore())
