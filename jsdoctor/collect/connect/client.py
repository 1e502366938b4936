"""nats-py's client, on a connection that is already open, remembering what the server says of itself."""

from __future__ import annotations

import logging
from typing import Any

from nats.aio.client import Client

from jsdoctor.collect.connect.transport import GreetedTransport

# What nats-py would log is told in words by `connection`; without a handler Python prints it, with a traceback.
logging.getLogger("nats").addHandler(logging.NullHandler())


class InfoClient(Client):
    """`info` is the server's INFO with all later updates: nats-py keeps the first one only, and in private.

    Of `auth_required` the first word counts: with `no_auth_user` the greeting says that a stranger may come in, and to
    whoever has logged in servers since 2.11 say that authentication is required (nats-server `client.go` processPing).
    """

    def __init__(self, transport: GreetedTransport | None = None) -> None:
        super().__init__()
        self.info: dict[str, Any] = {}
        if transport:
            self._transport = transport

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        asked = {"auth_required": self.info.get("auth_required", False)} if self.info else {}
        self.info.update(info | asked)
        await super()._process_info(info, initial_connection)
