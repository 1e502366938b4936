"""A gap: evidence that could not be collected, why, and how to get it."""

from __future__ import annotations

import msgspec

from jsdoctor.model.finding import Subject


class Gap(msgspec.Struct, frozen=True):
    """Evidence that was not collected.

    `kind` is what is missing (`connection`, `server`, `stream`, `consumer`, `endpoint`, `reply`, `access`, `samples`).
    `requested` is True for evidence that was requested and could not be collected (the run is inconclusive, exit 3),
    False for evidence that this kind of access never offers (listed, exit 0).
    """

    kind: str
    subject: Subject
    reason: str
    how_to_get: str
    requested: bool = True
