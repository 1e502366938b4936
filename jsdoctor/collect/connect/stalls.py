"""For how long this process waited for a processor: on a busy machine that is no silence of the server's.

A timer that comes late shows it. Time in which the process itself was at work does not count: else a server that floods
us could make us wait for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from time import process_time

_TICK_S = 0.05


class Stalls:
    """`total_s` grows while the process does not get to run."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._loop = asyncio.get_running_loop()
        self._due_s = self._busy_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @contextlib.contextmanager
    def watched(self) -> Iterator[Stalls]:
        """Measure until this is left."""
        self._wait()
        try:
            yield self
        finally:
            if self._timer:
                self._timer.cancel()

    def now_s(self) -> float:
        """Loop time without stalls: what a patience is measured with."""
        self._note()
        return self._loop.time() - self.total_s

    def _wait(self) -> None:
        self._busy_s = process_time()
        self._due_s = self._loop.time() + _TICK_S
        self._timer = self._loop.call_at(self._due_s, self._tick)

    def _tick(self) -> None:
        self._note()
        self._wait()

    def _note(self) -> None:
        """Count what has passed since the last tick was due; code that runs long lets no tick in between."""
        now_s, busy_s = self._loop.time(), process_time()
        late_s = now_s - self._due_s - (busy_s - self._busy_s)
        if late_s > _TICK_S:
            self.total_s += late_s
            self._due_s, self._busy_s = now_s, busy_s
