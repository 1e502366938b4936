"""A service that decides who may log in (auth callout): it signs in everyone whose password is the name of the user."""

import asyncio
import base64
import json
import threading
from typing import Any

import nats
import nkeys
from nats.aio.msg import Msg

from tests.sources.operator_mode import Key

_SUBJECT = "$SYS.REQ.USER.AUTH"
_UNLIMITED = {"subs": -1, "data": -1, "payload": -1}


class Callout:
    """The configuration that leads to the service, and the service, which works in a thread of its own."""

    def __init__(self) -> None:
        self._issuer = Key(nkeys.PREFIX_BYTE_ACCOUNT)
        self.accounts = (
            "system_account: SYS\naccounts { SYS: {}, APP: { jetstream: enabled }\n"
            "  AUTH: { users: [{ user: auth, password: auth }] }\n}\n"
            f"authorization {{ auth_callout {{ issuer: {self._issuer.public}, account: AUTH, auth_users: [auth] }} }}\n"
        )
        self._end = threading.Event()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None

    def serve(self, url: str) -> None:
        """Begin to sign, with a connection to that URL."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(url)), daemon=True)
        self._thread.start()
        assert self._ready.wait(10), "the service is not ready"

    def close(self) -> None:
        """End the service."""
        self._end.set()
        if self._thread:
            self._thread.join(10)

    async def _serve(self, url: str) -> None:
        client = await nats.connect(url)
        await client.subscribe(_SUBJECT, cb=self._decide)
        await client.flush()
        self._ready.set()
        await asyncio.to_thread(self._end.wait)
        await client.close()

    async def _decide(self, message: Msg) -> None:
        request: dict[str, Any] = json.loads(_decoded(message.data.decode().split(".")[1]))["nats"]
        user, given = request["user_nkey"], request["connect_opts"]
        answer: dict[str, Any] = {"type": "authorization_response"}
        if given.get("user") == given.get("pass"):
            account = str(given["user"]).upper()
            claims = {**_UNLIMITED, "type": "user"}
            answer["jwt"] = self._issuer.jwt(user, str(given["user"]), claims, audience=account)
        else:
            answer["error"] = "wrong password"
        await message.respond(self._issuer.jwt(user, "decision", answer, audience=request["server_id"]["id"]).encode())


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
