"""Client connections as servers list them: those that are open, and the last ones that were closed, with the reason.

Source: the CONNZ endpoint (server: monitor.go Connz). A server remembers 10,000 closed connections at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from jsdoctor.model.evidence import NOT_REPORTED, Evidence, EvidenceSource
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.reported import Reported, sent


class ClientConnection(Reported, frozen=True):
    """One connection. `stop` and `reason` are there once it is closed. `account` and `authorized_user` need a login.

    `issuer_account` is the public key of the account that its JWT is of, for logins that failed; None if a bundle has
    neither the JWT nor that key.
    """

    cid: int = sent(0)
    kind: str = ""
    type: str = ""
    ip: str = sent("")
    port: int = sent(0)
    start: datetime | None = sent(None)
    stop: datetime | None = None
    reason: str = ""
    subscriptions: int = sent(0)
    name: str = ""
    lang: str = ""
    version: str = ""
    account: str = ""
    authorized_user: str = ""
    name_tag: str = ""
    issuer_account: str | None = ""


class ServerConnections(msgspec.Struct, frozen=True, kw_only=True):
    """The connections of one server; the lists may hold fewer than there are.

    None: that list was not collected. `at` is the server's clock.
    """

    server: str
    at: datetime
    open: tuple[ClientConnection, ...] | None = None
    closed: tuple[ClientConnection, ...] | None = None

    @property
    def subject(self) -> Subject:
        """This server as the subject of a finding."""
        return Subject(kind="server", name=self.server)

    def observed(self, path: str, value: object) -> Observation:
        """A value of this server's list as evidence."""
        return Observation(source=self.server, path=path, value=value, at=self.at)


class Connections(Evidence, frozen=True):
    """The connections of every server that listed them, by server name."""

    source = EvidenceSource.SYSTEM
    parts = ("connections",)
    unavailable = NOT_REPORTED
    said_by = ("connections",)
    of_deployment = True

    servers: tuple[ServerConnections, ...]

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (server.server for server in self.servers)
