"""Requests of plain accounts that the JetStream API refused as a whole, reading after reading."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered

NO_META_LEADER = 10008
"""Error code of the API where the meta group has no leader (server: JSClusterNotAvailErr)."""


class ApiRefusal(msgspec.Struct, frozen=True):
    """The list of streams was refused to an account: the error code, and when it was requested."""

    account: str
    err_code: int
    at: datetime


class ApiRefusals(Evidence, frozen=True):
    """What each reading of a plain account's streams was refused with; an empty reading was not refused."""

    source = EvidenceSource.LIVE
    parts = ("assets",)
    unavailable = not_offered("no login of a plain account was used", "use a login of an account with JetStream")

    readings: tuple[tuple[ApiRefusal, ...], ...]
