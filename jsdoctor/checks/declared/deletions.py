"""What a change of a stream deletes at once (server: filestore.go and memstore.go UpdateConfig).

A limit that is lowered below what is stored is enforced within the update; a person who raises nothing else sees an
acknowledged edit and an emptier stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jsdoctor.checks.stream_limits.claims import unclaimed
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.wording import counted, span

_NS_PER_S = 1_000_000_000

_DROPS_AT_ONCE = (2, 14)
"""Servers of 2.10 and 2.12 keep what nobody has a claim on when a stream becomes an interest stream; 2.15 drops it."""


class Deletion(NamedTuple):
    """The field whose change deletes, what it deletes, how many messages at least, and out of which unit it is."""

    field: str
    says: str
    messages: int | None = None


def of_change(config: StreamConfig, stream: Stream, server: tuple[int, ...] = ()) -> Iterator[Deletion]:
    """What the change deletes of what is stored now. `server` is the release of its leader; empty: not known."""
    if not stream.state.messages:
        return
    if config.discard == "old":
        yield from _sizes(config, stream)
    yield from _age(config, stream)
    if not config.sealed or not server or server >= _DROPS_AT_ONCE:
        yield from _per_subject(config, stream)
    if not server or server >= _DROPS_AT_ONCE:
        yield from _retention(config, stream)


def _sizes(config: StreamConfig, stream: Stream) -> Iterator[Deletion]:
    state, current = stream.state, stream.config
    if 0 < config.max_msgs < state.messages and _lower(config.max_msgs, current.max_msgs):
        gone = state.messages - config.max_msgs
        says = f"max_msgs {config.max_msgs:,} is below the {counted(state.messages, 'message')} it holds"
        yield Deletion("max_msgs", f"{says}: the oldest {gone:,} are deleted", gone)
    if 0 < config.max_bytes < state.bytes and _lower(config.max_bytes, current.max_bytes):
        says = f"max_bytes {config.max_bytes:,} is below the {state.bytes:,} bytes it holds"
        yield Deletion("max_bytes", f"{says}: the oldest messages are deleted until the rest fits")


def _age(config: StreamConfig, stream: Stream) -> Iterator[Deletion]:
    state, current = stream.state, stream.config
    if not _lower(config.max_age_ns, current.max_age_ns) or state.first_ts is None or config.mirror:
        return
    oldest_ns = int((stream.at - state.first_ts).total_seconds() * _NS_PER_S)
    if oldest_ns <= config.max_age_ns:
        return
    newest_ns = int((stream.at - state.last_ts).total_seconds() * _NS_PER_S) if state.last_ts else 0
    everything = newest_ns > config.max_age_ns
    says = f"its oldest message is {span(oldest_ns)} old and max_age becomes {span(config.max_age_ns)}"
    what = f"all {counted(state.messages, 'message')} expire" if everything else "what is older expires"
    yield Deletion("max_age", f"{says}: {what} at once", state.messages if everything else None)


def _per_subject(config: StreamConfig, stream: Stream) -> Iterator[Deletion]:
    most = config.max_msgs_per_subject
    if not _lower(most, stream.config.max_msgs_per_subject):
        return
    subjects, held = stream.state.num_subjects, stream.state.messages
    if subjects and held > most * subjects:
        says = f"max_msgs_per_subject becomes {most:,} and its {subjects:,} subjects hold {held:,} messages"
        when = "at once, or by servers before 2.14 with the next publish or restart"
        yield Deletion("max_msgs_per_subject", f"{says}: older ones are deleted, {when}", held - most * subjects)


def _retention(config: StreamConfig, stream: Stream) -> Iterator[Deletion]:
    if (stream.config.retention, config.retention) != ("limits", "interest"):
        return
    if (gone := unclaimed(stream)) == 0:
        return
    who = "no consumer has a claim on" if not stream.consumers else "all its consumers have acknowledged"
    yield Deletion("retention", f"with interest retention it drops the messages that {who}", gone)


def _lower(wanted: int, current: int) -> bool:
    """Whether a limit is new or lower than before."""
    return wanted > 0 and (current <= 0 or wanted < current)
