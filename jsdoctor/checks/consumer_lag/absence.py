"""Time after which a consumer's clients count as absent, by its configuration, its state and earlier samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.wording import counted, span

_LATE = 2
"""Clients are late when they stay away for this many times their longest absence so far."""


class Limits(NamedTuple):
    """Parameters of JSD405 in nanoseconds: how long clients may stay away, and if they left work behind."""

    absent_for_ns: int
    left_for_ns: int


class AbsenceLimit(msgspec.Struct, frozen=True):
    """Time without clients after which they count as absent, in nanoseconds, and its reason; `why` may be empty.

    `expected`: the limit comes from earlier samples or from the parameter, and no job that runs at intervals explains a
    longer absence. Otherwise it comes from configuration or state, and a job may run at longer intervals than those
    allow for.
    """

    after_ns: int
    why: str = ""
    expected: bool = True


def absence(stream: Stream, consumer: Consumer, quiet_ns: int, rhythm_ns: int | None, limits: Limits) -> AbsenceLimit:
    """What decides about clients that have been away for `quiet_ns`; `rhythm_ns` is the longest they were before."""
    usual = AbsenceLimit(limits.absent_for_ns)
    if rhythm_ns is not None:
        why = f"in the looks of --history its clients were never away for longer than {span(rhythm_ns)}"
        usual = AbsenceLimit(_LATE * rhythm_ns, why)
    if quiet_ns >= usual.after_ns:
        return usual
    return min((usual, *_provided_for(stream, consumer, limits.left_for_ns)), key=lambda item: item.after_ns)


def _provided_for(stream: Stream, consumer: Consumer, left_for_ns: int) -> Iterator[AbsenceLimit]:
    expiry_ns = stream.config.max_age_ns
    if expiry_ns > 0:
        why = f"messages that no client fetches expire after {span(expiry_ns)}"
        yield AbsenceLimit(max(expiry_ns, left_for_ns), why, expected=False)
    if stream.config.retention == "interest":
        yield AbsenceLimit(left_for_ns, "the stream grows by all that it does not acknowledge", expected=False)
    if consumer.delivered.consumer_seq == 0:
        yield AbsenceLimit(left_for_ns, "no client has ever come for it", expected=False)
    if consumer.num_ack_pending > 0:
        left = counted(consumer.num_ack_pending, "message")
        yield AbsenceLimit(left_for_ns, f"its clients left {left} unacknowledged that are due again", expected=False)
