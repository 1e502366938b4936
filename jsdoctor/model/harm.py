"""What a stop of servers would lead to, and what of it may be accepted."""

from __future__ import annotations

from enum import StrEnum


class Harm(StrEnum):
    """What an obstacle would lead to, the worst first."""

    DATA_LOST = "data_lost"
    QUORUM_LOST = "quorum_lost"
    NO_LEADER = "no_leader"
    NOT_CURRENT = "not_current"
    UNAVAILABLE = "unavailable"
    CUT_OFF = "cut_off"
    NO_ROOM = "no_room"


class Acceptance(StrEnum):
    """What an operator may accept: single copies that nobody can use for a while, or that are lost."""

    UNAVAILABLE = "unavailable"
    LOSS = "loss"

    @property
    def harms(self) -> tuple[Harm, ...]:
        """The obstacles that it takes away."""
        return (Harm.UNAVAILABLE, Harm.CUT_OFF) if self is Acceptance.UNAVAILABLE else (Harm.DATA_LOST,)
