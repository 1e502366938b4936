"""Messages of a fix through a client of nats-py, with what may go wrong in the words of remedies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from nats import errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from jsdoctor.model.plan import Json
from jsdoctor.model.typed import decode_as
from jsdoctor.remedy.operation import InboxMessage, LostError, NoResponseError

_SLICE_S = 0.1
"""How often a wait looks whether the connection is still there."""


class ClientInbox:
    """The `Inbox` of `jsdoctor.remedy.operation`."""

    def __init__(self, client: Client, subscription: Subscription) -> None:
        self._client, self._subscription = client, subscription

    @property
    def subject(self) -> str:
        """Where messages for it go."""
        return self._subscription.subject

    async def next(self, timeout_s: float) -> InboxMessage | None:
        """The next message; None where none comes in time. Raises LostError."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + timeout_s
        while (left_s := ends_at - loop.time()) > 0:
            try:
                message = await self._subscription.next_msg(timeout=min(_SLICE_S, left_s))
            except (TimeoutError, errors.TimeoutError):
                if not self._client.is_connected:
                    raise LostError("the connection was lost") from None
                continue
            except (errors.Error, OSError) as error:
                raise LostError(f"the connection was lost: {error}") from None
            return InboxMessage(message.data, message.reply, dict(message.headers or {}))
        return None

    async def close(self) -> None:
        """End the subscription, also where the connection is gone."""
        with suppress(errors.Error, OSError):
            await self._subscription.unsubscribe()


class ClientMessages:
    """The part of the `Api` of `jsdoctor.remedy.operation` that is about messages, not about requests."""

    def __init__(self, client: Client, timeout_s: float) -> None:
        self.client, self.timeout_s = client, timeout_s

    @property
    def server_version(self) -> tuple[int, int]:
        """Major and minor version of the server of this connection."""
        version = self.client.connected_server_version
        return version.major, version.minor

    async def publish(self, subject: str, payload: bytes, reply: str = "") -> None:
        """A message that nobody confirms. Raises LostError."""
        try:
            await self.client.publish(subject, payload, reply=reply)
        except (errors.Error, OSError) as error:
            raise LostError(f"the connection was lost: {error}") from None

    async def store(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> Json:
        """A message to a stream, and the stream's reply. Raises NoResponseError."""
        try:
            reply = await self.client.request(subject, payload, timeout=self.timeout_s, headers=dict(headers))
        except (errors.Error, TimeoutError) as error:
            raise NoResponseError(f"{subject}: {error}") from None
        decoded: Json = decode_as(reply.data, Json)
        return decoded

    async def inbox(self) -> ClientInbox:
        """A new inbox that drops nothing. Raises LostError."""
        try:
            subscription = await self.client.subscribe(
                self.client.new_inbox(), pending_msgs_limit=0, pending_bytes_limit=0
            )
        except (errors.Error, OSError) as error:
            raise LostError(f"the connection was lost: {error}") from None
        return ClientInbox(self.client, subscription)
