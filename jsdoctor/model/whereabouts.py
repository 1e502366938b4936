"""Where a subject, a stream, a consumer or a message is, and who has to do with it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import EvidenceOrigin

SCHEMA = "jsdoctor.where/v1"


class Whereabout(msgspec.Struct, frozen=True, kw_only=True):
    """A stream or a consumer that has to do with it. `facts` are sentences without a full stop.

    `leader` empty: none, or not shown. `members` are all servers that hold it, the leader among them.
    """

    subject: Subject
    domain: str = ""
    leader: str = ""
    members: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class Whereabouts(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for one name. `sentence` sums it up; `found` is empty where nothing has to do with it.

    `unseen` may hide it, or more of it.
    """

    asked: str
    sentence: str
    found: tuple[Whereabout, ...] = ()
    unseen: tuple[Gap, ...] = ()


class WhereReport(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a run."""

    version: str
    started: datetime
    headline: str
    sources: tuple[EvidenceOrigin, ...]
    results: tuple[Whereabouts, ...]
