"""Requests of the JetStream API through a plain client, as operations make them through the connection of a run."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import nats
from nats.aio.client import Client

from jsdoctor.app.fix.run import ClientMessages
from jsdoctor.remedy.api import ApiError, DeniedError, NoResponseError

NET_S = 90.0  # what hangs, fails; nothing is measured by it


class PlainApi(ClientMessages):
    """`jsdoctor.remedy.api.Api` on a client of nats-py."""

    def __init__(self, client: Client, prefix: str = "$JS.API") -> None:
        super().__init__(client, 5.0)
        self.prefix = prefix
        self.denials: list[str] = []

    async def ask(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> dict[str, Any]:
        answer = await self.request(f"{self.prefix}.{subject}", payload, timeout_s=timeout_s)
        if error := answer.get("error"):
            raise ApiError(subject, error["code"], error.get("err_code", 0), error.get("description", ""))
        return answer

    async def request(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> dict[str, Any]:
        body = b"" if payload is None else json.dumps(payload).encode()
        try:
            reply = await self.client.request(subject, body, timeout=timeout_s or self.timeout_s)
        except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
            if any(f'"{subject.lower()}"' in words.lower() for words in self.denials):
                raise DeniedError(subject) from None
            raise NoResponseError(subject) from None
        answer: dict[str, Any] = json.loads(reply.data)
        return answer


@contextlib.asynccontextmanager
async def plain_api(url: str) -> AsyncIterator[PlainApi]:
    """An API on a connection of its own to the first server of the address that takes it."""
    denials: list[str] = []

    async def note(error: Exception) -> None:
        denials.append(str(error))

    client = await nats.connect(url.split(","), error_cb=note)
    api = PlainApi(client)
    api.denials = denials
    try:
        yield api
    finally:
        await client.close()


def with_api(url: str, use: Callable[[PlainApi], Awaitable[Any]]) -> Any:
    """What `use` makes of a connection to that server."""

    async def main() -> Any:
        async with asyncio.timeout(NET_S), plain_api(url) as api:
            return await use(api)

    return asyncio.run(main())
