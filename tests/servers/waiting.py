"""Polling for a state of a real server, with an error that says what was awaited."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(predicate: Callable[[], T], what: str, *, timeout: float = 10.0, interval: float = 0.05) -> T:
    """Return the first truthy answer of *predicate*; raise TimeoutError naming *what* after *timeout* seconds."""
    deadline = time.monotonic() + timeout
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > deadline:
            message = f"waited {timeout:g} s for {what}; the last answer was {answer!r}"
            raise TimeoutError(message)
        time.sleep(interval)
