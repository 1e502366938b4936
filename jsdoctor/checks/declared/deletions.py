"""What a change of a stream deletes at once (server: filestore.go and memstore.go UpdateConfig).

A limit that is lowered below what is stored is enforced within the update: the edit is acknowledged, and the stream has
fewer messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jsdoctor.checks.streams.limits import unclaimed
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.subjects import overlaps_any, subject_contains
from jsdoctor.model.wording import counted, span

_NS_PER_S = 1_000_000_000

_DROPS_AT_ONCE = (2, 14)
"""When a stream becomes an interest stream, all servers drop what its consumers acknowledged; those of 2.15 also what
lies below where a consumer started, and everything where there is none.
"""


class Deletion(NamedTuple):
    """The field whose change deletes, what it deletes, and how many messages; None: not known.

    `exact`: the number is not an estimate. `unsure`: whether anything is deleted is not known either.
    """

    field: str
    says: str
    messages: int | None = None
    exact: bool = True
    unsure: bool = False


def of_change(
    config: StreamConfig, stream: Stream, server: tuple[int, ...] = (), subjects: Mapping[str, int] | None = None
) -> Iterator[Deletion]:
    """The stored messages that the change deletes, by field. `server` is the release of the leader; empty: not known.
    `subjects` has the messages of each subject; None: not known.
    """
    if not stream.state.messages:
        return
    if config.discard == "old":
        yield from _sizes(config, stream)
    yield from _age(config, stream)
    if not config.sealed or not server or server >= _DROPS_AT_ONCE:
        yield from _per_subject(config, stream, subjects)
    yield from _retention(config, stream, kept=() < server < _DROPS_AT_ONCE)


def lowers_subject_limit(config: StreamConfig, stream: Stream) -> bool:
    """Whether max_msgs_per_subject becomes lower, and some subject may have more messages than that."""
    most = config.max_msgs_per_subject
    return _lower(most, stream.config.max_msgs_per_subject) and stream.state.messages > most


def of_filters(config: ConsumerConfig, current: Consumer, stream: Stream) -> Deletion | None:
    """Messages of an interest stream that were kept for this consumer alone, and that its new filters leave out."""
    held = current.num_pending + current.num_ack_pending
    old, new = current.config.filters or stream.config.subjects, config.filters or stream.config.subjects
    left_out = [subject for subject in old if not any(subject_contains(wide, subject) for wide in new)]
    if stream.config.retention != "interest" or not left_out or not held:
        return None
    others = [other for other in stream.consumers if other.name != current.name]
    kept = any(not other.config.filters for other in others)
    wanted = tuple(pattern for other in others for pattern in other.config.filters)
    if kept or all(any(subject_contains(wide, subject) for wide in wanted) for subject in left_out):
        return None
    disjoint = not others and not any(overlaps_any(subject, new) for subject in old)
    text = f"its filters leave out {left_out[0]!r}, and an interest stream keeps no message that no consumer wants"
    number = f"{held:,}" if disjoint else f"up to {held:,}"
    return Deletion("filter_subject", f"{text}: {number} are deleted", held, exact=disjoint)


def _sizes(config: StreamConfig, stream: Stream) -> Iterator[Deletion]:
    """Deletions by max_msgs and max_bytes. A limit that refused messages before (`discard: new`) counts as new."""
    state, current = stream.state, stream.config
    refused = current.discard == "new"
    if 0 < config.max_msgs < state.messages and (refused or _lower(config.max_msgs, current.max_msgs)):
        gone = state.messages - config.max_msgs
        text = f"max_msgs {config.max_msgs:,} is below the {counted(state.messages, 'message')} it holds"
        yield Deletion("max_msgs", f"{text}: the oldest {gone:,} are deleted", gone)
    if 0 < config.max_bytes < state.bytes and (refused or _lower(config.max_bytes, current.max_bytes)):
        gone = min(-(-(state.bytes - config.max_bytes) * state.messages // state.bytes), state.messages)
        text = f"max_bytes {config.max_bytes:,} is below the {state.bytes:,} bytes it holds"
        how = f"about {gone:,} of {state.messages:,}, estimated from their average size"
        yield Deletion("max_bytes", f"{text}: the oldest messages are deleted, {how}", gone, exact=False)


def _age(config: StreamConfig, stream: Stream) -> Iterator[Deletion]:
    state, current = stream.state, stream.config
    if not _lower(config.max_age_ns, current.max_age_ns) or state.first_ts is None:
        return
    oldest_ns = int((stream.at - state.first_ts).total_seconds() * _NS_PER_S)
    if oldest_ns <= config.max_age_ns:
        return
    newest_ns = int((stream.at - state.last_ts).total_seconds() * _NS_PER_S) if state.last_ts else 0
    text = f"its oldest message is {span(oldest_ns)} old and max_age becomes {span(config.max_age_ns)}"
    if newest_ns > config.max_age_ns:
        what = f"all {counted(state.messages, 'message')} expire at once"
        yield Deletion("max_age", f"{text}: {what}", state.messages)
        return
    share = (oldest_ns - config.max_age_ns) / max(oldest_ns - newest_ns, 1)
    gone = min(max(round(share * state.messages), 1), state.messages)
    how = f"about {gone:,} of {state.messages:,} if they came at a steady rate"
    yield Deletion("max_age", f"{text}: what is older expires at once, {how}", gone, exact=False)


def _per_subject(config: StreamConfig, stream: Stream, counts: Mapping[str, int] | None) -> Iterator[Deletion]:
    if not lowers_subject_limit(config, stream):
        return
    most, subjects, held = config.max_msgs_per_subject, stream.state.num_subjects, stream.state.messages
    when = "at once, or by servers before 2.14 with the next publish or restart"
    if counts is not None:
        full = [count - most for count in counts.values() if count > most]
        if full:
            held_more = f"{len(full):,} of {counted(len(counts), 'subject')} hold more"
            text = f"max_msgs_per_subject becomes {most:,}; {held_more}"
            yield Deletion("max_msgs_per_subject", f"{text}: {sum(full):,} messages are deleted, {when}", sum(full))
        return
    if subjects and held > most * subjects:
        least = held - most * subjects
        text = f"max_msgs_per_subject becomes {most:,} and its {subjects:,} subjects hold {held:,} messages"
        gone = f"at least {least:,} are deleted, {when}"
        yield Deletion("max_msgs_per_subject", f"{text}: {gone}", least, exact=subjects == 1)
    elif not subjects or held - (subjects - 1) > most:
        of_them = f" of its {subjects:,}" if subjects else ""
        text = f"max_msgs_per_subject becomes {most:,}: whether one{of_them} subjects holds more is not known"
        yield Deletion("max_msgs_per_subject", text, exact=False, unsure=True)


def _retention(config: StreamConfig, stream: Stream, *, kept: bool) -> Iterator[Deletion]:
    """The deletion by a change to interest retention. `kept`: the server drops acknowledged messages only."""
    if (stream.config.retention, config.retention) != ("limits", "interest"):
        return
    floors = [c.ack_floor.consumer_seq if kept else c.ack_floor.stream_seq for c in stream.consumers]
    below = any(floor >= (1 if kept else max(stream.state.first_seq, 1)) for floor in floors)
    if (gone := unclaimed(stream)) == 0 or (stream.consumers_seen and not below and (stream.consumers or kept)):
        return
    if any(consumer.config.filters for consumer in stream.consumers):
        gone = None
    who = "no consumer has a claim on" if not stream.consumers else "all its consumers have acknowledged"
    text = f"with interest retention it drops the messages that {who}"
    yield Deletion("retention", text, gone, exact=gone is not None and len(stream.consumers) <= 1)


def _lower(wanted: int, current: int) -> bool:
    """Whether a limit is new or lower than before."""
    return wanted > 0 and (current <= 0 or wanted < current)
