"""Runs `jsdoctor` and halts its process at one point of what it writes: python -m tests.remedy.halted POINT ARGUMENT…

POINT is `SIGNAL:NUMBER`: KILL ends the process as a crash does, STOP suspends it until somebody continues it, NONE only
counts. Points are numbered from 1 in the order in which they come: three to a line of the journal (before it; half of
it is written; after it is synced), two to a request that writes (before it is sent; after its answer has come). The
names of all points that were passed go to stderr.
"""

import os
import signal
import sys
from typing import Any

from jsdoctor.app.fix.run import LiveApi
from jsdoctor.cli import app
from jsdoctor.remedy.journal import Journal

READING = (".INFO.", ".LIST", ".NAMES", ".MSG.GET.", "$SYS.")


class Halt:
    """Counts points, and halts at one of them."""

    def __init__(self, point: str) -> None:
        name, _, number = point.partition(":")
        self._signal = None if name == "NONE" else getattr(signal, f"SIG{name}")
        self._at, self._passed = int(number or 0), 0

    def point(self, name: str) -> None:
        self._passed += 1
        os.write(2, f"point {self._passed} {name}\n".encode())
        if self._signal and self._passed == self._at:
            os.kill(os.getpid(), self._signal)

    def is_next(self) -> bool:
        """Whether the point that comes next is the one to halt at."""
        return bool(self._signal) and self._passed + 1 == self._at


def install(halt: Halt) -> None:
    append, request, write = Journal.append, LiveApi.request, os.write

    def halting_append(self: Journal, event: Any, step: Any = None, text: str = "", **more: Any) -> None:
        halt.point(f"before {event}")
        if halt.is_next():

            def torn(handle: int, line: bytes) -> int:
                os.write = write
                written = write(handle, line[: len(line) // 2])
                halt.point(f"half of {event}")
                return written

            os.write = torn  # type: ignore[assignment]
        else:
            halt.point(f"half of {event}")
        append(self, event, step, text, **more)
        halt.point(f"after {event}")

    async def halting_request(self: LiveApi, subject: str, payload: object = None, **more: Any) -> Any:
        if any(word in subject for word in READING):
            return await request(self, subject, payload, **more)
        halt.point(f"before {subject}")
        reply = await request(self, subject, payload, **more)
        halt.point(f"after {subject}")
        return reply

    Journal.append = halting_append  # type: ignore[method-assign]
    LiveApi.request = halting_request  # type: ignore[method-assign]


if __name__ == "__main__":
    install(Halt(sys.argv[1]))
    sys.exit(app.run(sys.argv[2:]))
