"""Small wordings that several parts of a report share: bounded lists, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from jsdoctor.model.finding import Subject
from jsdoctor.model.wording import counted


def subjects(items: Sequence[Subject]) -> str:
    """How many of what: `3 consumers`, or `3 subjects` where the kinds differ."""
    kinds = {subject.kind for subject in items}
    return counted(len(items), kinds.pop() if len(kinds) == 1 else "subject")


def with_login(logins: Mapping[str, str], command: str) -> str:
    """` (with a login of account APP)` for a command that needs it. `logins` has those that are needed, by command."""
    return f" (with {logins[command]})" if command in logins else ""


def to_the_second(moment: datetime) -> str:
    """The moment in UTC as people read it: `2025-03-09 03:04:05Z`."""
    return rfc3339(moment.replace(microsecond=0)).replace("T", " ")


@lru_cache(maxsize=4096)
def rfc3339(moment: datetime) -> str:
    """The moment in UTC as RFC 3339 with `Z`. A moment without a zone is taken as UTC."""
    try:
        utc = moment.astimezone(UTC) if moment.tzinfo else moment
    except OverflowError:  # the first or last day that a datetime can hold, in another zone
        utc = moment
    return utc.replace(tzinfo=None).isoformat() + "Z"
