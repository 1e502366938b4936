"""Progress of a scan, its speed, and its remaining time: a few times a second, on stderr."""

from __future__ import annotations

from time import monotonic

from jsdoctor.collect.live.collection_result import Progress

_EVERY_S = 0.2
_TELLING_S = 0.5


class Rate:
    """Reports the progress of one stream."""

    def __init__(self, stream: str, about: int, progress: Progress, doing: str = "reading the headers of") -> None:
        self._what, self._about, self._progress = f"{doing} {stream}", about, progress
        self._started = monotonic()
        self._due = 0.0

    def tell(self, messages: int) -> None:
        """Report the number of messages read so far."""
        now = monotonic()
        if now < self._due:
            return
        self._due = now + _EVERY_S
        self._progress(self.words(messages, now - self._started))

    def words(self, messages: int, seconds: float) -> str:
        """`reading the headers of ORDERS: 40,000 of 200,000, 35,000/s, 5 s left`."""
        text = f"{self._what}: {messages:,} of {self._about:,}"
        if seconds < _TELLING_S or not messages:
            return text
        rate = messages / seconds
        left_s = max(self._about - messages, 0) / rate
        return f"{text}, {rate:,.0f}/s, {left_s:,.0f} s left"
