"""How many requests may run at once, and when further requests are useless."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from jsdoctor.collect.live.ask import NoReplyError, Why

_ENOUGH_DENIALS = 16
_MUCH_SLOWER = 4
_NEWEST_SHARE = 0.1


class Slots:
    """At most `count` concurrent requests that are not much slower than others: a slow one does not block the others.

    Otherwise a few leaders that do not respond would take all slots for seconds each, one after another. If all
    requests are slow, the servers are busy, and more requests would increase the load: the patience is a multiple of
    the usual response time.
    """

    def __init__(self, count: int, patience_s: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._least_s = patience_s
        self._usual_s = patience_s

    @property
    def _patience_s(self) -> float:
        return max(self._least_s, _MUCH_SLOWER * self._usual_s)

    def answered(self, took_s: float) -> None:
        """Record the response time of a request."""
        self._usual_s += _NEWEST_SHARE * (took_s - self._usual_s)

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a slot; give it back on leaving, or when patience ends."""
        await self._free.acquire()
        timer = asyncio.get_running_loop().call_later(self._patience_s, self._free.release)
        try:
            yield
        finally:
            # Past its time the timer has given the slot back, or is about to.
            if asyncio.get_running_loop().time() < timer.when():
                timer.cancel()
                self._free.release()


class RoundStats:
    """The results of the requests of one round. Times are loop times, names those of streams."""

    def __init__(self, timeout_s: float, begun_at: float) -> None:
        self.denied: set[str] = set()
        self.late: set[str] = set()
        self.skipped: set[str] = set()
        self.words = ""
        self._timeout_s = timeout_s
        self._heard_at = begun_at
        self._heard_any = False
        self._hopeless = False

    def received(self, now: float) -> None:
        """Record a request with a reply."""
        self._heard_at = now
        self._heard_any = True

    def failed(self, stream: str, error: NoReplyError) -> None:
        """Record a request without a reply."""
        if error.why is Why.DENIED:
            self.denied.add(stream)
            self.words = error.words
        else:
            self.late.add(stream)
            self._hopeless = self._hopeless or error.why in (Why.LOST, Why.NO_INBOX)

    @property
    def is_forbidden(self) -> bool:
        """Whether so many requests were denied, and none got a reply, that all others would be denied too."""
        return len(self.denied) >= _ENOUGH_DENIALS and not self._heard_any

    def is_in_vain(self, now: float) -> bool:
        """Whether to stop: the connection is lost, everything is denied, or no reply came for a timeout."""
        silent = bool(self.late) and now - self._heard_at > self._timeout_s
        return self._hopeless or self.is_forbidden or silent
