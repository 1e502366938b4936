"""nats-py's client, on a connection that is already open, remembering what the server says of itself."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from nats import errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.aio.transport import Transport

from jsdoctor.collect.connect.bounds import BoundedParser

# What nats-py would log is told in words by `connection`; without a handler Python prints it, with a traceback.
logging.getLogger("nats").addHandler(logging.NullHandler())


Tap = Callable[[bytes, bytes, bytes], Awaitable[None]]
"""Takes subject, reply subject and header block of a message as they came. It must raise nothing."""


class InfoClient(Client):
    """`info` is the server's INFO with all later updates: nats-py keeps the first one only, and in private.

    `fatal_error` is the -ERR with which the server ended the connection; nats-py replaces it by the end of the stream
    that follows. Of `auth_required` the first word counts: with `no_auth_user` the greeting says that a stranger may
    come in, and to whoever has logged in servers since 2.11 say that authentication is required (nats-server
    `client.go` processPing).
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.info: dict[str, Any] = {}
        self.fatal_error: Exception | None = None
        self._taps: dict[int, Tap] = {}
        self._ps = BoundedParser(self)
        self._transport = transport

    def tap(self, subscription: Subscription, tap: Tap) -> None:
        """From now on hand the messages of that subscription over as they come, without the queue and the parsing of
        headers that nats-py has for each: these are most of what a message costs.
        """
        self._taps[subscription._id] = tap  # noqa: SLF001 - it has no other name

    def untap(self, subscription: Subscription) -> None:
        """Undo `tap`."""
        self._taps.pop(subscription._id, None)  # noqa: SLF001 - as above

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if tap := self._taps.get(sid):
            await tap(subject, reply, headers or b"")
        else:
            await super()._process_msg(sid, subject, reply, data, headers)

    async def _process_err(self, err_msg: str) -> None:
        await super()._process_err(err_msg)
        if "permissions violation" not in err_msg:
            self.fatal_error = self.last_error

    async def _read_loop(self) -> None:
        with contextlib.suppress(errors.Error, OSError):  # of a login that is given up: nobody waits for this task
            await super()._read_loop()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        asked = {"auth_required": self.info.get("auth_required", False)} if self.info else {}
        self.info.update(info | asked)
        # Other addresses of the cluster are for reconnecting, which a run never does; nats-py compares each with all.
        await super()._process_info({**info, "connect_urls": None}, initial_connection)
