"""Restores a stream to its state before a step, from the verified backup that was taken first.

A stream is deleted only if the backup holds its whole content, and each deletion and restore is written to the journal
before it is requested. The next rollback therefore finishes one that was killed at any point.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jsdoctor.model.plan import Json, Request
from jsdoctor.remedy.api import Api, ApiError, LostError, NoResponseError, RetryLimit, is_transient
from jsdoctor.remedy.backup.files import BackupNote, BackupProblem, read_meta, require_verified
from jsdoctor.remedy.backup.restore import (
    STREAM_NOT_FOUND,
    EmptyProblem,
    info_of,
    is_whole,
    may_lose,
    misplaced,
    restore,
)
from jsdoctor.remedy.backup.take import all_consumers, durables
from jsdoctor.remedy.operation import JournalNote, StepContext, StepRefusedError
from jsdoctor.remedy.replies import changes_text, differences

TAKEN = "backup"
"""Kind of a note: `directory` is the place of a backup."""
PUTTING_BACK = "putting back"
"""Kind of a note: a rollback has begun to replace the stream by its backup."""
MAX_RESTORES = 4
"""How often a backup is restored until servers have all of it, with the positions of its consumers."""
_RESTORED_S = 60
_STATE_KEYS = ("messages", "first_seq", "last_seq", "num_deleted")


async def consumers_of(api: Api, stream: str) -> Json:
    """Configuration and position of each durable consumer, by name (CONSUMER.LIST, all pages)."""
    return durables(await all_consumers(api, stream))


def former_backup(run: StepContext) -> tuple[Path, BackupNote]:
    """The newest verified backup of this step or of a step that it needs: its directory and note.

    Raises StepRefusedError if there is none that can be used.
    """
    problem: BackupProblem | None = None
    for note in reversed((*run.needed, *run.notes, *run.written)):
        if note.kind == TAKEN:
            directory = place_of(run, note)
            try:
                read_meta(directory)
                return directory, require_verified(directory)
            except BackupProblem as why:
                problem = why
    raise StepRefusedError(
        f"no backup of the stream can be used: {problem}" if problem else "no backup was taken first"
    )


def place_of(run: StepContext, note: JournalNote) -> Path:
    """The directory of a backup: beside the journal, wherever the command runs."""
    directory = Path(str(note.data["directory"]))
    return directory if directory.is_absolute() else run.directory / directory.name


async def not_covered(run: StepContext, stream: str, now: Json) -> str:
    """What the stream has now that its backup lacks, as text; empty if the backup holds its present state."""
    try:
        directory, note = former_backup(run)
    except StepRefusedError as error:
        return str(error)
    meta = read_meta(directory)
    if moved := _state_difference(meta["state"], now["state"], may_expire=False):
        return f"the stream has changed since its backup: {moved}"
    if config := differences(meta["config"], now["config"]):
        return f"the stream has changed since its backup: {changes_text(config)}"
    first = _first_seq(now["state"])
    return moved_consumers(note.consumers, await consumers_of(run.api, stream), first=first)


async def only_lacks(run: StepContext, stream: str, now: Json, deleted: int | None) -> str:
    """Why the backup must not replace the stream, as text; empty if the stream lacks only what this step deleted.

    `deleted` is how many messages this step has deleted; None: messages may have expired or been acknowledged since.
    """
    directory, note = former_backup(run)
    meta = read_meta(directory)
    had, has = meta["state"], now["state"]
    if stored := has["last_seq"] - had.get("last_seq", 0):
        return f"{stored} messages were stored in {stream} since its backup, up to message {has['last_seq']}"
    if deleted is not None and (gone := had.get("messages", 0) - has["messages"] - deleted):
        return f"{gone} more messages were removed from {stream} since its backup"
    if config := differences(meta["config"], now["config"]):
        return f"its configuration has changed since: {changes_text(config)}"
    consumers = await consumers_of(run.api, stream)
    return moved_consumers(note.consumers, consumers, ("delivered",), first=_first_seq(now["state"]))


def is_putting_back(notes: Iterable[JournalNote]) -> bool:
    """Whether a rollback has begun to replace the stream by its backup."""
    return any(note.kind == PUTTING_BACK for note in notes)


async def put_back(run: StepContext, stream: str) -> None:
    """Delete the stream and restore it from the backup that was taken first; finishes an interrupted attempt.

    The caller has made sure that a backup holds everything that is deleted. Raises StepRefusedError.
    """
    directory, backup = former_backup(run)
    deleted = any(note.kind == PUTTING_BACK and note.data.get("deleted") for note in run.notes)
    replaced: Json = {}
    try:
        for _ in range(MAX_RESTORES):
            now = await info_of(run.api, stream)
            if not now.get("missing"):
                if deleted and now["state"]["last_seq"] and await all_is_back(run.api, directory, backup, replaced):
                    return
                replaced = replaced or await consumers_of(run.api, stream)
                run.note(PUTTING_BACK, {"directory": str(directory)})
                run.say(f"stream {stream} is deleted, and restored from {directory}")
                await delete_stream(run.api, stream)
            if not deleted:
                run.note(PUTTING_BACK, {"directory": str(directory), "deleted": True})
            deleted = True
            if await restore_whole(run.api, directory, backup, replaced):
                return
    except BackupProblem as problem:
        raise refusal(problem) from None
    raise StepRefusedError(
        f"servers did not restore all of the backup {directory}, {MAX_RESTORES} times; see the meta leader's log"
    )


async def restore_whole(api: Api, directory: Path, backup: BackupNote, replaced: Json | None) -> bool:
    """Restore the backup and wait for its content; False: the restore must be repeated."""
    with suppress(EmptyProblem):
        await restore(api, directory)
        return await all_is_back(api, directory, backup, replaced)
    return False


async def consumers_are_back(api: Api, backup: BackupNote, replaced: Json | None) -> bool:
    """Whether no consumer of a restored stream is at another position than in the backup; False: restore it once more.

    A second restore loses nothing if no message was stored since. `replaced`: consumers of the stream that was deleted.
    Raises StepRefusedError if a message was stored.
    """
    moved = await misplaced(api, backup.stream, backup.consumers, replaced)
    if not moved:
        return True
    now = await info_of(api, backup.stream)
    if "state" in now and (stored := now["state"]["last_seq"] - backup.last_seq) > 0:
        raise StepRefusedError(
            f"all messages are back, but {moved}. Messages were stored since ({stored}), so the stream is not restored "
            "once more: create the consumer again with that place as its start"
        )
    return False


def deletion_request(stream: str) -> Request:
    """STREAM.DELETE."""
    return Request(f"STREAM.DELETE.{stream}")


async def delete_stream(api: Api, stream: str) -> None:
    """STREAM.DELETE; a stream that does not exist counts as deleted."""
    try:
        await api.ask(deletion_request(stream).subject)
    except ApiError as error:
        if error.err_code != STREAM_NOT_FOUND:
            raise


async def all_is_back(api: Api, directory: Path, backup: BackupNote, replaced: Json | None) -> bool:
    """Wait until the stream has everything that its server counted in the backup; then `consumers_are_back`.

    Raises StepRefusedError.
    """
    meta, limit = read_meta(directory), RetryLimit(_RESTORED_S)
    while True:
        try:
            now = await info_of(api, str(meta["config"]["name"]))
        except (ApiError, NoResponseError) as error:
            if isinstance(error, LostError) or (isinstance(error, ApiError) and not is_transient(error)):
                raise
            now = {}
        if is_whole(now, meta):
            return await consumers_are_back(api, backup, replaced)
        if not await limit.more():
            have = (now.get("state") or {}).get("messages", 0)
            raise StepRefusedError(
                f"{have} of {meta['state'].get('messages', 0)} messages are there: it is not that backup"
            )


def refusal(problem: BackupProblem) -> StepRefusedError:
    """The problem with a backup as the end of a step."""
    return StepRefusedError(f"{problem}: {problem.hint}" if problem.hint else str(problem))


def state_difference(before: Json, now: Json) -> str:
    """What differs between two states of a stream with `consumers`, as text; empty if nothing does."""
    was_missing, is_missing = bool(before.get("missing")), bool(now.get("missing"))
    if was_missing and is_missing:
        return ""
    if was_missing or is_missing:
        return "it is there, and was not before" if was_missing else "the stream is gone"
    if config := differences(before["config"], now["config"]):
        return changes_text(config)
    state = _state_difference(before["state"], now["state"], may_expire=may_lose(before["config"]))
    first = max(_first_seq(before["state"]), _first_seq(now["state"]))
    return state or moved_consumers(before.get("consumers"), now.get("consumers") or {}, first=first)


def moved_consumers(
    before: Any, now: Json, places: Iterable[str] = ("delivered", "ack_floor"), *, first: int = 0
) -> str:
    """The durable consumer that differs from its earlier state, as text; empty if none does or `before` has none.

    Positions before the stream's `first` message are equal: whether a purge moves them depends on the server version.
    """
    if before is None:
        return ""
    for name in dict.fromkeys((*before, *now)):
        if name not in now or name not in before:
            return f"consumer {name} {'is gone' if name in before else 'is new'}"
        if config := differences(before[name]["config"], now[name]["config"]):
            return f"consumer {name}: {changes_text(config)}"
        for place in places:
            if _position_from(before[name][place], first) != _position_from(now[name][place], first):
                return f"consumer {name}: {place} {_shown(before[name][place])} -> {_shown(now[name][place])}"
    return ""


def _first_seq(state: Json) -> int:
    return int(state.get("first_seq") or 0)


def _position_from(pair: Json, first: int) -> tuple[int, int]:
    return max(pair["stream_seq"], first - 1), pair["consumer_seq"]


def _shown(pair: Json) -> str:
    return f"{pair['stream_seq']} (delivery {pair['consumer_seq']})"


def _state_difference(before: Json, now: Json, *, may_expire: bool) -> str:
    keys = ("last_seq",) if may_expire else _STATE_KEYS
    moved = [(key, before.get(key) or 0, now.get(key) or 0) for key in keys]
    return ", ".join(f"{key} {was:,} -> {has:,}" for key, was, has in moved if was != has)
