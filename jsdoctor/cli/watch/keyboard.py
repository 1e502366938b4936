"""Single keys from a terminal, without waiting for Enter. Where there is no terminal, there are no keys."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Iterator
from enum import Enum


class Key(Enum):
    """The actions that a key can trigger."""

    QUIT = "quit"
    PAUSE = "pause"
    REFRESH = "refresh"
    UP = "up"
    DOWN = "down"
    ENTER = "enter"
    ESCAPE = "escape"
    EXPLAIN = "explain"
    SAVE = "save"


_KEYS = {
    b"q": Key.QUIT,
    b"p": Key.PAUSE,
    b" ": Key.PAUSE,
    b"r": Key.REFRESH,
    b"\x1b[A": Key.UP,
    b"\x1bOA": Key.UP,
    b"k": Key.UP,
    b"\x1b[B": Key.DOWN,
    b"\x1bOB": Key.DOWN,
    b"j": Key.DOWN,
    b"\r": Key.ENTER,
    b"\n": Key.ENTER,
    b"d": Key.ENTER,
    b"\x1b": Key.ESCAPE,
    b"\x7f": Key.ESCAPE,
    b"e": Key.EXPLAIN,
    b"s": Key.SAVE,
}
_MAX = 3


class Keyboard:
    """Keys as they are pressed. `available` is False where none can be read."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @property
    def available(self) -> bool:
        """Whether keys can be read here."""
        return self._descriptor is not None

    def read(self, timeout_s: float) -> list[Key]:
        """The keys pressed until one was, or until the time is over."""
        if self._descriptor is None:
            time.sleep(timeout_s)
            return []
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        pressed = os.read(self._descriptor, 64) if ready else b""
        if ready and not pressed:
            self._descriptor = None  # the terminal is gone
        return list(_decoded(pressed))


@contextlib.contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Keys of stdin while the block runs; the terminal is as before after it."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield Keyboard(None)
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _decoded(pressed: bytes) -> Iterator[Key]:
    """Keys of which several may have come at once. Bytes that are no key of ours are skipped."""
    at = 0
    while at < len(pressed):
        for length in range(min(_MAX, len(pressed) - at), 0, -1):
            if key := _KEYS.get(pressed[at : at + length]):
                yield key
                break
        else:
            length = 1
        at += length
