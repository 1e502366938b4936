"""Requests that change something, as a real server receives them: what a step or a command really sends."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import nats
from nats.aio.msg import Msg

from jsdoctor.model.plan import Request
from tests.remedy.halted import READING
from tests.servers import Cluster

_PREFIX = "$JS.API."
_SETTLED_S = 0.3
"""How long nothing may come before a recording counts as complete: other connections have queues of their own."""


@dataclass
class Recording:
    """Requests of the JetStream API in the order in which the server received them."""

    requests: list[Request] = field(default_factory=list)

    async def take(self, message: Msg) -> None:
        subject = message.subject.removeprefix(_PREFIX)
        with contextlib.suppress(ValueError):  # the content of a backup is no request
            payload: Any = json.loads(message.data) if message.data else None
            self.requests.append(Request(subject, payload))

    @property
    def writes(self) -> list[Request]:
        """Those that change something."""
        return [request for request in self.requests if not any(word in f".{request.subject}." for word in READING)]


@contextlib.asynccontextmanager
async def recorded(cluster: Cluster, user: str) -> AsyncIterator[Recording]:
    """All requests that logins of the user's account send meanwhile."""
    client = await nats.connect(cluster.servers(user), dont_randomize=True)
    recording = Recording()
    try:
        await client.subscribe(f"{_PREFIX}>", cb=recording.take)
        await client.flush()
        yield recording
        seen = -1
        while seen != len(recording.requests):
            seen = len(recording.requests)
            await client.flush()
            await asyncio.sleep(_SETTLED_S)
    finally:
        await client.close()
