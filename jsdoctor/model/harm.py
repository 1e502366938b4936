"""What a stop of servers, or another release on them, would lead to, and what of it may be accepted."""

from __future__ import annotations

from enum import StrEnum


class Harm(StrEnum):
    """What an obstacle would lead to, the worst first."""

    DATA_LOST = "data_lost"
    NO_START = "no_start"
    QUORUM_LOST = "quorum_lost"
    NO_LEADER = "no_leader"
    NOT_CURRENT = "not_current"
    UNAVAILABLE = "unavailable"
    CUT_OFF = "cut_off"
    NO_ROOM = "no_room"
    UNSUPPORTED = "unsupported"
    REFUSED = "refused"
    DEFECT = "defect"


class Acceptance(StrEnum):
    """What an operator may accept: what nobody can use for a while, what is lost, known defects of a release."""

    UNAVAILABLE = "unavailable"
    LOSS = "loss"
    DEFECTS = "defects"

    @property
    def harms(self) -> tuple[Harm, ...]:
        """The obstacles that it takes away."""
        return {
            Acceptance.UNAVAILABLE: (Harm.UNAVAILABLE, Harm.CUT_OFF, Harm.UNSUPPORTED),
            Acceptance.LOSS: (Harm.DATA_LOST,),
            Acceptance.DEFECTS: (Harm.DEFECT,),
        }[self]
