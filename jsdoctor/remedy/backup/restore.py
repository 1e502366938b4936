"""Restores a stream from a backup with STREAM.RESTORE, and verifies that all of it is there, consumers included.

Seen with three servers of 2.15.1: a restored consumer's position is on its leader alone. Where another server leads
it, it begins at 0, or where a deleted consumer of the same name stood.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from jsdoctor.model.plan import Json, Request
from jsdoctor.model.typed import decode_plain
from jsdoctor.remedy.api import Api, ApiError, Inbox, InboxMessage, LostError, NoResponseError, RetryLimit, is_transient
from jsdoctor.remedy.backup.files import BackupProblem, data_file, read_meta
from jsdoctor.remedy.backup.take import STALLED_S, all_consumers, next_message, pair

_CHUNK = 64 << 10
STREAM_NOT_FOUND = 10059
_RESTORING_S = 1800.0
"""Maximum time in seconds that the server may take to store what it has received."""
_SAMPLE_S = 5.0
_UNREACHED_S = 4.0
"""Maximum time in seconds that a chunk is sent again because no server takes it. In a cluster the reply to the restore
may arrive before the interest in its chunks, which takes another route; a server ends a restore without chunks after
5 s."""
_LEADER_WAIT_S = 30
"""How long the consumers of a restored stream may take to have leaders."""
_NAME_TAKEN = 10130
_INTERRUPTED_S = 60.0
"""Maximum time in seconds that an interrupted restore reserves a name: servers end it after 5 s without a chunk."""
_NO_STORE = 10049
_DELETING_S = 10.0
"""Maximum time in seconds that a stream is restored again because the server could not create its store.

A server that has deleted the last stream of an account removes the directory of its streams, too. A stream that is
created at that moment is refused (observed with 2.10.26).
"""


class EmptyProblem(BackupProblem):
    """There is a stream of that name now, and it is empty.

    In a cluster, this happens if another server becomes leader of the stream before the one that was to restore it
    (observed with 2.10.26 after the meta leader had died): the reply is then that of a created stream.
    """


def is_whole(info: dict[str, Any], meta: dict[str, Any]) -> bool:
    """Whether a restored stream, by its INFO, has a leader, the last sequence of its backup and as many messages.

    Fewer messages are correct if they expire or no consumer is interested in them.
    """
    if "state" not in info:
        return False
    led = "cluster" not in info or bool(info["cluster"].get("leader"))
    config, state, wanted = meta["config"], info["state"], meta["state"]
    enough = may_lose(config) or state.get("messages", 0) >= wanted.get("messages", 0)
    return led and state.get("last_seq", 0) >= wanted.get("last_seq", 0) and bool(enough)


def may_lose(config: dict[str, Any]) -> bool:
    """Whether such a stream may lose messages without a request: by expiry, or because no consumer has interest."""
    return bool(config.get("max_age") or config.get("allow_msg_ttl") or config.get("retention") == "interest")


async def restore(api: Api, directory: Path, stalled_s: float = STALLED_S) -> dict[str, Any]:
    """Restore the stream and its consumers from the directory; returns the server's stream info.

    The stream must not be there: nothing is ever overwritten. Raises BackupProblem and what `api` raises.
    """
    import asyncio

    meta = read_meta(directory)
    path = data_file(directory)
    stream = str(meta["config"]["name"])
    if not (await info_of(api, stream)).get("missing"):
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
                await send_chunk(api, inbox, chunks_to, chunk, stalled_s)
        return await _finished(api, inbox, chunks_to, meta, stalled_s)
    finally:
        await inbox.close()


def restore_request(stream: str, meta: Json) -> Request:
    """STREAM.RESTORE of what a backup holds."""
    return Request(f"STREAM.RESTORE.{stream}", {"config": meta["config"], "state": meta["state"]})


async def _accepted(api: Api, stream: str, request: Request) -> Json:
    """The reply to STREAM.RESTORE, once no earlier restore or deletion of that stream is pending.

    In a cluster, an interrupted restore reserves the name, although STREAM.INFO does not find the stream (server:
    jsClusteredStreamRestoreRequest; activityInterval in processStreamRestore).
    """
    limits = {_NAME_TAKEN: RetryLimit(_INTERRUPTED_S), _NO_STORE: RetryLimit(_DELETING_S)}
    while True:
        try:
            return await api.ask(request.subject, request.payload)
        except ApiError as refused:
            limit = limits.get(refused.err_code)
            if limit is None or not await limit.more():
                raise
        with suppress(NoResponseError):  # the stream has no leader yet
            if not (await info_of(api, stream)).get("missing"):
                raise EmptyProblem(f"stream {stream} appeared while its restore was pending", "run again")


async def info_of(api: Api, stream: str) -> Json:
    """STREAM.INFO; only `missing` if there is no such stream."""
    try:
        return await api.ask(f"STREAM.INFO.{stream}")
    except ApiError as error:
        if error.err_code == STREAM_NOT_FOUND:
            return {"missing": True}
        raise


async def send_chunk(api: Api, inbox: Inbox, subject: str, chunk: bytes, stalled_s: float) -> None:
    """Send one chunk and await its receipt, which is empty unless the restore failed."""
    limit = RetryLimit(_UNREACHED_S)
    while True:
        await api.publish(subject, chunk, reply=inbox.subject)
        receipt = await next_message(inbox, stalled_s)
        if not _no_responders(receipt):
            break
        await _wait_for_interest(limit)
    if receipt.data:
        _reply_to_restore(receipt.data)


async def _finished(api: Api, inbox: Inbox, subject: str, meta: dict[str, Any], stalled_s: float) -> dict[str, Any]:
    """End the upload and wait for the reply; without one, poll STREAM.INFO until it shows the restored stream."""
    await api.publish(subject, b"", reply=inbox.subject)
    limit = RetryLimit(_UNREACHED_S)
    ends_at = monotonic() + max(_RESTORING_S, stalled_s)
    while monotonic() < ends_at:
        try:
            receipt = await inbox.next(_SAMPLE_S)
        except LostError as error:
            raise BackupProblem(str(error), "run again") from None
        if receipt is None:
            if info := await _whole(api, meta):
                return info
            continue
        if _no_responders(receipt):
            await _wait_for_interest(limit)
            await api.publish(subject, b"", reply=inbox.subject)
        elif receipt.data:
            return _reply_to_restore(receipt.data)
    raise BackupProblem("the server did not say whether the stream was restored", "look at it: nats stream ls")


async def _whole(api: Api, meta: dict[str, Any]) -> dict[str, Any]:
    """STREAM.INFO of a stream that has a leader and the last sequence of the backup; empty while there is none."""
    try:
        info = await api.ask(f"STREAM.INFO.{meta['config']['name']}")
    except (ApiError, NoResponseError) as error:
        if isinstance(error, LostError):
            raise
        return {}
    return info if is_whole(info, meta) else {}


def _no_responders(receipt: InboxMessage) -> bool:
    return receipt.headers.get("Status") == "503"


async def _wait_for_interest(limit: RetryLimit) -> None:
    if not await limit.more():
        raise BackupProblem("the server does not take the backup any more", "see its log, and run again")


def _reply_to_restore(body: bytes) -> dict[str, Any]:
    try:
        result = decode_plain(body)
        error = result.get("error")
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError):
        raise BackupProblem("the reply to the restore cannot be read", "look at the stream: nats stream ls") from None
    if error:
        reported = f"the server refused the backup: {error.get('description')} (error {error.get('err_code')})"
        raise BackupProblem(reported, "see its log; the stream was not restored")
    return dict(result)


async def misplaced(api: Api, stream: str, wanted: dict[str, Json], replaced: Json | None) -> str:
    """The consumer of a restored stream that is not where it stood, as text; empty if there is none.

    `wanted`: the durable consumers right before the backup. A consumer may be ahead, as it may have continued since the
    restore. It is wrong if it is behind what it had acknowledged (from there on, servers since 2.15 restore one with
    messages under way), or at the position of the consumer of that name in the stream that was `replaced`.
    """
    if not wanted:
        return ""
    result = await _consumers_with_leader(api, stream, wanted)
    for name, backup in wanted.items():
        if name not in result:
            return f"consumer {name} of the backup is not there"
        now, backed_up, floor = pair(result[name], "delivered"), backup["delivered"], backup["ack_floor"]
        former = (replaced or {}).get(name, {}).get("delivered")
        is_behind = now["consumer_seq"] < floor["consumer_seq"] or now["stream_seq"] < floor["stream_seq"]
        if is_behind or (now not in (backed_up, floor) and former is not None and now == former):
            return (
                f"consumer {name} stands at {now['stream_seq']} (delivery {now['consumer_seq']}), "
                f"in the backup at {backed_up['stream_seq']} (delivery {backed_up['consumer_seq']})"
            )
    return ""


async def _consumers_with_leader(api: Api, stream: str, wanted: Iterable[str]) -> dict[str, Json]:
    """The consumers by name, once all of `wanted` exist and have a leader; when the time is over, those that do."""
    limit = RetryLimit(_LEADER_WAIT_S)
    while True:
        result: dict[str, Json] = {}
        try:
            result = {info["name"]: info for info in await all_consumers(api, stream) if _has_leader(info)}
        except NoResponseError:
            pass  # the stream has no leader yet
        except ApiError as error:
            if not is_transient(error):
                raise
        if all(name in result for name in wanted) or not await limit.more():
            return result


def _has_leader(info: Json) -> bool:
    return bool((info.get("cluster") or {"leader": "it"}).get("leader"))
