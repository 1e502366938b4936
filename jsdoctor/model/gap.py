"""A gap: evidence that could not be had, why, and how to get it."""

from __future__ import annotations

import msgspec

from jsdoctor.model.finding import Subject


class Gap(msgspec.Struct, frozen=True):
    """Something that was not seen.

    `kind` is what was missing (`connection`, `server`, `stream`, `consumer`, `endpoint`, `reply`, `access`, `samples`).
    `requested` tells evidence that was asked for and could not be had (makes the run inconclusive, exit 3)
    from evidence that this kind of access never offers (listed, exit 0).
    """

    kind: str
    subject: Subject
    reason: str
    how_to_get: str
    requested: bool = True


class Gaps(msgspec.Struct, frozen=True):
    """All requested gaps of one run, as evidence: rule JSD901 reports them."""

    gaps: tuple[Gap, ...]
