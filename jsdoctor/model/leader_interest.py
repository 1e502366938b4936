"""Whether the leaders of idle streams listen to the subjects of their streams."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Observation, Subject


class Listening(msgspec.Struct, frozen=True):
    """A stream, its leader, and whether that server has a subscription of its subject `listens_to`.

    `found` is None where the server was not queried or did not respond.
    """

    account: str
    stream: str
    server: str
    listens_to: str
    found: bool | None
    at: datetime

    @property
    def subject(self) -> Subject:
        """The stream as the subject of a finding."""
        return Subject(kind="stream", account=self.account, name=self.stream)

    @property
    def observed(self) -> Observation:
        """What the server sent as evidence."""
        return Observation(f"SUBSZ of {self.server}", self.listens_to, "subscribed" if self.found else None, self.at)


class LeaderInterest(Evidence, frozen=True):
    """Ten streams at most that got no message for half a minute before the run (server: monitor.go Subsz)."""

    source = EvidenceSource.SYSTEM
    parts = ("assets", "interest")
    unavailable = not_offered(
        "no leader was queried for its subscriptions: no login of the system account was used, or the capture is older",
        "run again with a login of the system account; of captured evidence, capture it again",
    )
    endpoints = (Endpoint.SUBSZ,)
    of_deployment = True

    streams: tuple[Listening, ...] = ()
