"""One line of a nats-server in the shapes that people have it in."""

from __future__ import annotations

import re
from collections.abc import Callable

_HEADER = re.compile(r"^(\[\d+\] )?(\d{4}/\d\d/\d\d) (\d\d:\d\d:\d\d\.\d{6}) ", re.MULTILINE)

Shape = Callable[[str], str]


def _without_header(text: str) -> str:
    return _HEADER.sub("", text)


UNDATED: dict[str, Shape] = {
    "bare": _without_header,
    "process id": lambda text: _HEADER.sub(lambda found: found[1] or "", text),
    "time": lambda text: _HEADER.sub(lambda found: found[3][:8] + " ", text),
    "process id and time": lambda text: _HEADER.sub(lambda found: f"{found[1] or ''}{found[3]} ", text),
}
"""Lines as `logtime: false` and log viewers leave them."""
