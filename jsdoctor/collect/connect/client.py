"""nats-py's client on a connection that is already open, with the server's INFO and its updates."""

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

# `connection` reports what nats-py would log; without a handler, Python prints it with a traceback.
logging.getLogger("nats").addHandler(logging.NullHandler())


Tap = Callable[[bytes, bytes, bytes], Awaitable[None]]
"""Takes subject, reply subject and header block of a message as received. It must not raise."""


class InfoClient(Client):
    """`info` is the server's INFO with all later updates: nats-py keeps only the first one, and in a private field.

    `fatal_error` is the -ERR with which the server ended the connection; nats-py replaces it by the end of the stream
    that follows. For `auth_required`, the first value counts: with `no_auth_user`, the first INFO has False because a
    client may connect without a login, and after a login, servers since 2.11 send True (nats-server `client.go`
    processPing).
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.info: dict[str, Any] = {}
        self.fatal_error: Exception | None = None
        self._taps: dict[int, Tap] = {}
        self._ps = BoundedParser(self)
        self._transport = transport

    def tap(self, subscription: Subscription, tap: Tap) -> None:
        """From now on, pass the messages of that subscription to `tap` as received.

        This skips the queue and the header parsing of nats-py, which are most of the cost of a message.
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
        with contextlib.suppress(errors.Error, OSError):  # after a failed login: nothing awaits this task
            await super()._read_loop()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        first = {"auth_required": self.info.get("auth_required", False)} if self.info else {}
        self.info.update(info | first)
        # Other addresses of the cluster are for reconnecting, which a run never does; nats-py compares each with all.
        await super()._process_info({**info, "connect_urls": None}, initial_connection)
