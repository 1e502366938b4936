"""Requests of a fix over the connection of this run: what remedies need, with what may go wrong in their words."""

from __future__ import annotations

from typing import Any

import msgspec

from jsdoctor.app.fix.messages import ClientMessages
from jsdoctor.collect.connect.connection import Connection
from jsdoctor.collect.connect.refusal import printable
from jsdoctor.collect.live.ask import Asker, NoReplyError, Why
from jsdoctor.collect.live.system import find_servers
from jsdoctor.model.plan import Json
from jsdoctor.model.typed import decode_plain
from jsdoctor.remedy.operation import ApiError, DeniedError, LostError, NoResponseError

USER_INFO = "$SYS.REQ.USER.INFO"
_DESCRIPTION_SHOWN = 300


class LiveApi(ClientMessages):
    """The `Api` of `jsdoctor.remedy.operation`, through one connection."""

    def __init__(self, connection: Connection, prefix: str, timeout_s: float) -> None:
        super().__init__(connection.client, timeout_s)
        self._connection = connection
        self._prefix = prefix

    async def ask(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request of the JetStream API that must succeed."""
        reply = await self.request(f"{self._prefix}.{subject}", payload, timeout_s=timeout_s)
        if isinstance(error := reply.get("error"), dict):
            stated = printable(str(error.get("description", "")), limit=_DESCRIPTION_SHOWN)
            raise ApiError(subject, int(error.get("code") or 0), int(error.get("err_code") or 0), stated)
        return reply

    async def request(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request to any subject."""
        if not subject.isprintable() or " " in subject:
            raise ApiError(subject, 400, 0, "the name holds characters that no subject can have")
        body = b"" if payload is None else msgspec.json.encode(payload)
        asker = Asker(self._connection, timeout_s or self.timeout_s)
        try:
            reply = await asker.one(subject, body)
        except NoReplyError as error:
            raise _problem(error) from None
        try:
            decoded: Any = decode_plain(reply.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            decoded = None
        if not isinstance(decoded, dict):
            raise NoResponseError(f"{subject}: the reply is no JSON object")
        return decoded

    async def accounts(self) -> frozenset[str]:
        """Names of the account of this login; empty where the server does not tell."""
        try:
            data = (await self.request(USER_INFO)).get("data") or {}
        except (NoResponseError, DeniedError, ApiError):
            return frozenset()
        return frozenset(str(data[key]) for key in ("account", "account_name") if data.get(key))

    async def is_system(self) -> bool:
        """Whether servers respond to this login as they do to the system account alone."""
        try:
            await find_servers(Asker(self._connection, self.timeout_s))
        except NoReplyError:
            return False
        return True


def _problem(error: NoReplyError) -> Exception:
    match error.why:
        case Why.DENIED:
            return DeniedError(
                f"this login is not allowed to ask: {error.words} (docs/permissions.md lists what it needs)"
            )
        case Why.NO_INBOX:
            return DeniedError(f"this login is not allowed to receive replies: {error.words}")
        case Why.LOST:
            return LostError("the connection was lost")
        case Why.NOBODY:
            return NoResponseError(f"no server responds to {error.subject}")
        case Why.LATE | Why.FLOODED:
            return NoResponseError(f"no reply to {error.subject} in time")
