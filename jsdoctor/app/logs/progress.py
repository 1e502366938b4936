"""How far the reading of logs is: bytes of bytes, rate, time left."""

from __future__ import annotations

import time
from collections.abc import Callable

from jsdoctor.model.wording import span
from jsdoctor.render.units import quantity

_TELLING_AFTER_S = 1.0
_EVERY_S = 0.05
"""More often than this nobody can read it; small files are done far more often."""
_NS = 1_000_000_000


class LogProgress:
    """Takes bytes as they are read and shows what that means. `total` is bytes stored."""

    def __init__(self, show: Callable[[str], None], total: int) -> None:
        self._show = show
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._next = 0.0

    def __call__(self, count: int) -> None:
        """`count` more bytes have been read."""
        self._done = min(self._done + count, self._total)
        now = time.monotonic()
        if now >= self._next or self._done == self._total:
            self._next = now + _EVERY_S
            self._show(f"reading logs: {self.text(now - self._started)}")

    def text(self, elapsed_s: float) -> str:
        """`1.2 GiB of 4.0 GiB, 310 MiB/s, 9s left`."""
        text = f"{quantity(self._done, 'bytes')} of {quantity(self._total, 'bytes')}"
        if elapsed_s < _TELLING_AFTER_S or not self._done:
            return text
        rate = self._done / elapsed_s
        left_s = round((self._total - self._done) / rate)
        return f"{text}, {quantity(rate, 'bytes_per_second')}, {span(left_s * _NS)} left"
