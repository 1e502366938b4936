"""Client connections as servers list them: those that are open, and the last ones that were closed, with the reason.

Source: the CONNZ endpoint (server: monitor.go Connz). A server remembers 10,000 closed connections at most.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

import msgspec

from jsdoctor.model.evidence import NOT_REPORTED, Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.reported import Reported, sent
from jsdoctor.model.subjects import subjects_overlap


class Subscription(msgspec.Struct, frozen=True):
    """A subscription of a connection. `qgroup`: the queue group that it is a member of."""

    subject: str = ""
    qgroup: str = ""


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
    subscriptions_list_detail: tuple[Subscription, ...] | None = None


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
    left_out_by = frozenset({"connections"})

    servers: tuple[ServerConnections, ...]

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (server.server for server in self.servers)


class Subscriptions(Evidence, frozen=True):
    """The open connections with their subscriptions, of every server that listed them."""

    source = EvidenceSource.SYSTEM
    parts = ("subscriptions",)
    unavailable = not_offered(
        "no server listed the subscriptions of connections: captures do not have them",
        "run again with a login of the system account",
    )
    said_by = ("subscriptions",)
    of_deployment = True

    servers: tuple[ServerConnections, ...]

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (server.server for server in self.servers)

    def subscribers(self, subject: str, account: Collection[str] = ()) -> Iterator[str]:
        """The connections of the account of these names, or of all, that subscribe to it, each with how it does."""
        for server in self.servers:
            for connection in server.open or ():
                names = [name for name in (connection.name_tag, connection.account) if not account or name in account]
                for each in connection.subscriptions_list_detail or () if names else ():
                    if subjects_overlap(each.subject, subject):
                        queue = f", queue {each.qgroup}" if each.qgroup else ""
                        owner = min(filter(None, account or names), key=len, default="")
                        name = connection.name or f"connection {connection.cid}"
                        yield f"{name} of {owner} on {server.server} ({each.subject}{queue})"
