"""Requests to a deployment: what a connection can do, how it fails, and how long it is tried. Times are seconds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Protocol, TypeVar

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.logins import Logins
from jsdoctor.model.plan import Json, Step

PAUSE_S = 0.5
_TRANSIENT_CODES = {10008, 10009, 10013, 10118, 10119}
"""JetStream temporarily unavailable; no leader yet; stream or consumer offline for now (server errors.json)."""
_UNAVAILABLE = 503
_MIN_TRIES = 3
_ReplyT = TypeVar("_ReplyT")


class ApiError(Exception):
    """The server replied to a request with an error: it wrote nothing. `err_code` is that of errors.json."""

    def __init__(self, subject: str, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{subject}: {description} (error {err_code or code})")
        self.subject, self.code, self.err_code, self.description = subject, code, err_code, description


class DeniedError(Exception):
    """The login may not send that request: nothing was written. The text is the server's error text."""


class NoResponseError(Exception):
    """No reply: whether it was written is unknown until the state is read."""


class LostError(NoResponseError):
    """The connection is lost: no more requests are possible in this run."""


class InboxMessage(msgspec.Struct, frozen=True):
    """A message that arrived in an inbox."""

    data: bytes = b""
    reply: str = ""
    headers: Mapping[str, str] = {}


class Inbox(Protocol):
    """A subscription to a subject of its own."""

    @property
    def subject(self) -> str:
        """The subject of the inbox."""

    async def next(self, timeout_s: float) -> InboxMessage | None:
        """The next message; None where none comes in time. Raises LostError."""

    async def close(self) -> None:
        """End the subscription, also where the connection is gone."""


class Api(Protocol):
    """Requests through the connection of this run. The prefix of the JetStream API is put before `subject`.

    `ask` raises ApiError, DeniedError, NoResponseError or LostError; so does `request`, which takes a whole subject and
    returns the reply's JSON whatever is in it.
    """

    @property
    def timeout_s(self) -> float:
        """Maximum wait for one reply, in seconds."""

    @property
    def server_version(self) -> tuple[int, int]:
        """Major and minor version of the server of this connection."""

    async def ask(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request of the JetStream API that must succeed."""

    async def request(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """A request to any subject."""

    async def publish(self, subject: str, payload: bytes, reply: str = "") -> None:
        """Publish a message without an acknowledgement. Raises LostError."""

    async def store(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> Json:
        """Publish a message to a stream; returns the stream's reply. Raises NoResponseError."""

    async def inbox(self) -> Inbox:
        """A new inbox. Raises LostError."""


class StepApis(msgspec.Struct, frozen=True):
    """The connection of each login of a run. A step on an asset goes through a login of the asset's account, all others
    through that of the system account, or the only one.
    """

    logins: Logins
    apis: tuple[Api, ...]

    def of(self, step: Step) -> Api:
        """The connection for a step."""
        return self.apis[self._place(step.subject) or 0]

    def lacks(self, step: Step) -> bool:
        """Whether no login is of the account that owns the step's subject."""
        return bool(step.subject.account) and self._place(step.subject) is None

    def _place(self, subject: Subject) -> int | None:
        if not subject.account:
            return self.logins.of_system()
        place = self.logins.of_account(subject.account)
        plain = [login for login in self.logins.each if not login.is_system]
        if place is not None and len(plain) > 1 and not self.logins.each[place].accounts:
            return None  # several logins, and which account this one is of is not known: nothing is written by a guess
        return place


class RetryLimit:
    """The time limit of one step, which starts now. At least three attempts are made, however long each takes."""

    def __init__(self, patience_s: float) -> None:
        self._ends_at = monotonic() + patience_s
        self._tries = 0

    async def more(self) -> bool:
        """Count one attempt and wait before the next one; False if no attempt is left, without waiting."""
        import asyncio

        self._tries += 1
        if self._tries >= _MIN_TRIES and monotonic() >= self._ends_at:
            return False
        await asyncio.sleep(PAUSE_S)
        return True

    async def answered(self, ask: Callable[[], Awaitable[_ReplyT]]) -> _ReplyT:
        """Repeat a request until it succeeds. Raises its last error when no attempt is left, and any other at once."""
        while True:
            try:
                return await ask()
            except LostError:
                raise
            except NoResponseError:
                if not await self.more():
                    raise
            except ApiError as error:
                if not is_transient(error) or not await self.more():
                    raise


def is_transient(error: ApiError) -> bool:
    """Whether the server may accept the same request in a moment."""
    return error.err_code in _TRANSIENT_CODES or (error.code == _UNAVAILABLE and not error.err_code)
