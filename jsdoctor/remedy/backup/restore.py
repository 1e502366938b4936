"""Restoring a stream from a backup with STREAM.RESTORE, and looking whether all of it came back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from jsdoctor.model.plan import Json, Request
from jsdoctor.remedy.backup.place import data_file, read_meta
from jsdoctor.remedy.backup.problem import BackupProblem
from jsdoctor.remedy.backup.take import STALLED_S, next_message
from jsdoctor.remedy.operation import Api, ApiError, Inbox, InboxMessage, LostError, NoResponseError
from jsdoctor.remedy.retry_limit import RetryLimit

_CHUNK = 64 << 10
_NOT_FOUND = 10059
_RESTORING_S = 1800.0
"""How long the server may take to store what it has received."""
_LOOK_S = 5.0
_NAME_TAKEN = 10130
_INTERRUPTED_S = 60.0
"""How long a name may stay reserved by an interrupted restore: servers give it up after 5 s without a chunk."""


class EmptyProblem(BackupProblem):
    """There is a stream of that name now, and nothing in it.

    In a cluster, when another server leads the stream before the one that was to restore it does (seen with 2.10.26
    after the meta leader had died): the answer is then that of a stream that was created.
    """


def is_whole(info: dict[str, Any], meta: dict[str, Any]) -> bool:
    """Whether a restored stream, by its INFO, is led, goes as far as its backup and has as many messages.

    Fewer are right where they expire or are wanted by nobody.
    """
    if "state" not in info:
        return False
    led = "cluster" not in info or bool(info["cluster"].get("leader"))
    config, state, wanted = meta["config"], info["state"], meta["state"]
    enough = may_lose(config) or state.get("messages", 0) >= wanted.get("messages", 0)
    return led and state.get("last_seq", 0) >= wanted.get("last_seq", 0) and bool(enough)


def may_lose(config: dict[str, Any]) -> bool:
    """Whether messages of such a stream go by themselves: they expire, or nobody is interested in them."""
    return bool(config.get("max_age") or config.get("allow_msg_ttl") or config.get("retention") == "interest")


async def restore(api: Api, directory: Path, stalled_s: float = STALLED_S) -> dict[str, Any]:
    """Restore the stream and its consumers from the directory; returns the server's stream info.

    The stream must not be there: nothing is ever overwritten. Raises BackupProblem and what `api` raises.
    """
    import asyncio

    meta = read_meta(directory)
    path = data_file(directory)
    stream = str(meta["config"]["name"])
    if await exists(api, stream):
        raise BackupProblem(
            f"stream {stream} is there: a backup is restored only where the stream is not",
            f"back the present one up and delete it first: nats stream rm {stream}",
        )
    chunks_to = (await _accepted(api, stream, restore_request(stream, meta))).get("deliver_subject")
    if not chunks_to:
        raise EmptyProblem(f"the server made stream {stream} without taking the backup", "delete it, and run again")
    inbox = await api.inbox()
    try:
        with path.open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, _CHUNK):
                await _send(api, inbox, chunks_to, chunk, stalled_s)
        return await _finished(api, inbox, chunks_to, meta, stalled_s)
    finally:
        await inbox.close()


def restore_request(stream: str, meta: Json) -> Request:
    """STREAM.RESTORE of what a backup holds."""
    return Request(f"STREAM.RESTORE.{stream}", {"config": meta["config"], "state": meta["state"]})


async def _accepted(api: Api, stream: str, request: Request) -> Json:
    """The answer to STREAM.RESTORE, once no earlier restore of that stream is pending.

    In a cluster an interrupted restore reserves the name, although STREAM.INFO does not find the stream (server:
    jsClusteredStreamRestoreRequest; activityInterval in processStreamRestore).
    """
    patience = RetryLimit(_INTERRUPTED_S)
    while True:
        try:
            return await api.ask(request.subject, request.payload)
        except ApiError as refused:
            if refused.err_code != _NAME_TAKEN or not await patience.more():
                raise
        with suppress(NoResponseError):  # nobody leads the stream yet
            if await exists(api, stream):
                raise EmptyProblem(f"stream {stream} appeared while its restore was pending", "run again")


async def exists(api: Api, stream: str) -> bool:
    """Whether there is a stream of that name."""
    try:
        await api.ask(f"STREAM.INFO.{stream}")
    except ApiError as refused:
        if refused.err_code == _NOT_FOUND:
            return False
        raise
    return True


async def _send(api: Api, inbox: Inbox, subject: str, chunk: bytes, stalled_s: float) -> None:
    """One chunk and its receipt, which is empty but where the restore failed."""
    await api.publish(subject, chunk, reply=inbox.subject)
    receipt = await next_message(inbox, stalled_s)
    _require_taken(receipt)
    if receipt.data:
        _answer(receipt.data)


async def _finished(api: Api, inbox: Inbox, subject: str, meta: dict[str, Any], stalled_s: float) -> dict[str, Any]:
    """Say that this was all, and wait for the stream. Where the answer is lost with its server, the stream tells."""
    await api.publish(subject, b"", reply=inbox.subject)
    ends_at = monotonic() + max(_RESTORING_S, stalled_s)
    while monotonic() < ends_at:
        try:
            receipt = await inbox.next(_LOOK_S)
        except LostError as error:
            raise BackupProblem(str(error), "run again") from None
        if receipt is None:
            if info := await _whole(api, meta):
                return info
            continue
        _require_taken(receipt)
        if receipt.data:
            return _answer(receipt.data)
    raise BackupProblem("the server did not say whether the stream was restored", "look at it: nats stream ls")


async def _whole(api: Api, meta: dict[str, Any]) -> dict[str, Any]:
    """STREAM.INFO of a stream that is led and goes as far as the backup; empty while there is none."""
    try:
        info = await api.ask(f"STREAM.INFO.{meta['config']['name']}")
    except (ApiError, NoResponseError) as error:
        if isinstance(error, LostError):
            raise
        return {}
    return info if is_whole(info, meta) else {}


def _require_taken(receipt: InboxMessage) -> None:
    if receipt.headers.get("Status") == "503":
        raise BackupProblem("the server does not take the backup any more", "see its log, and run again")


def _answer(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
        error = found.get("error")
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError):
        raise BackupProblem("the reply to the restore cannot be read", "look at the stream: nats stream ls") from None
    if error:
        told = f"the server refused the backup: {error.get('description')} (error {error.get('err_code')})"
        raise BackupProblem(told, "see its log; the stream was not restored")
    return dict(found)
