"""A limit of the requests that a run sends per second."""

from __future__ import annotations

import asyncio


class RequestBudget:
    """Spaces requests evenly: at most `per_s` in a second, or as many as there are with None."""

    def __init__(self, per_s: int | None) -> None:
        self._interval_s = 1 / per_s if per_s else 0.0
        self._next_at = 0.0

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        if not self._interval_s:
            return
        now = asyncio.get_running_loop().time()
        own = max(self._next_at, now)
        self._next_at = own + self._interval_s
        await asyncio.sleep(own - now)
