"""The number of messages of each subject of a deployed stream: what a new limit per subject would delete.

One request per stream and 100,000 subjects; streams with more than `MAX` subjects are skipped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from jsdoctor.model.problems import ConnectProblem
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.decoding import ErrorReply
from jsdoctor.sources.connect.connection import connect
from jsdoctor.sources.connect.settings import ConnectionSettings
from jsdoctor.sources.servers.ask import Asker, NoReplyError

MAX = 500_000
_MAX_STREAMS = 100
"""Maximum number of streams that are queried."""


class _SubjectCountState(msgspec.Struct, frozen=True):
    subjects: dict[str, int] | None = None


class _SubjectCountInfo(msgspec.Struct, frozen=True):
    state: _SubjectCountState = _SubjectCountState()
    total: int = 0
    error: ErrorReply | None = None


def subject_counts(settings: ConnectionSettings, streams: Iterable[str]) -> Mapping[str, Mapping[str, int]]:
    """Messages by subject, by stream; without those that could not be collected."""
    return asyncio.run(_counts(settings, list(streams)[:_MAX_STREAMS]))


async def _counts(settings: ConnectionSettings, streams: list[str]) -> dict[str, dict[str, int]]:
    counts_by_stream: dict[str, dict[str, int]] = {}
    try:
        async with connect(settings) as connection:
            asker = Asker(connection, settings.timeout_s)
            for name in streams:
                counts = await _counts_of_stream(asker, f"{settings.js_api_prefix}.STREAM.INFO.{name}")
                if counts is not None:
                    counts_by_stream[name] = counts
    except ConnectProblem:
        pass
    return counts_by_stream


async def _counts_of_stream(asker: Asker, subject: str) -> dict[str, int] | None:
    """Messages by subject; None if a reply is missing or unusable, or if there are too many subjects."""
    counts: dict[str, int] = {}
    while True:
        body: dict[str, Any] = {"subjects_filter": ">", "offset": len(counts)}
        try:
            reply = await asker.one(subject, json.dumps(body).encode())
            info = decode_as(reply.body, _SubjectCountInfo)
        except (NoReplyError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        if info.error or info.total > MAX:
            return None
        before = len(counts)
        counts |= info.state.subjects or {}
        if len(counts) >= info.total:
            return counts
        if len(counts) == before:
            return None
