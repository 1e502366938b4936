"""What a run shows while it collects: progress and notices. Whoever starts the run says where they go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import msgspec

Show = Callable[[str], None]
"""Shows the current phase of a run."""


@contextmanager
def _no_progress(quiet: bool) -> Iterator[Show]:
    del quiet
    yield lambda _: None


def _logged(message: str, hint: str = "") -> None:
    import logging

    logging.getLogger("jsdoctor").info("%s", f"{message}; {hint}" if hint else message)


class Messages(msgspec.Struct, frozen=True):
    """Where progress and notices go. `progress` takes whether the run is quiet, `notice` a message and a hint.

    Without arguments progress is not shown, and notices go to the logger `jsdoctor` at level INFO.
    """

    progress: Callable[[bool], AbstractContextManager[Show]] = _no_progress
    notice: Callable[[str, str], None] = _logged


LOGGED = Messages()
"""No progress, and notices to the logger `jsdoctor`."""
