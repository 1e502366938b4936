"""Starts and stops of servers, and what they explain: lines that every start and every stop brings."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from jsdoctor.model.log import LogEvidence, LogTime, ProcessRun

SETTLING_US = 15_000_000
"""After a start (and after "Server is ready") servers still connect to each other: missing peers are normal then."""

STOPPING_US = 15_000_000
"""Before its last line a server that stops in order takes its parts down; in lame duck mode it takes its time."""

LAME_DUCK_US = 180_000_000

AROUND_US = 30_000_000
"""When a server starts or stops, the others elect leaders and connect again within so long."""

_BYTES_A_SECOND = 400
"""Where lines have no times, so much of the text stands for a second: a server that starts logs four lines in one."""


class ProcessTimeline:
    """The processes of all servers: finds whether a moment was near a start or stop. Times are microseconds.

    Where lines have no times, their places in the text are compared.
    """

    def __init__(self, logs: LogEvidence) -> None:
        self._starts: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._stops: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._moments: list[int] = []
        self._openings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for run in logs.runs:
            if run.started is not None:
                calm = (run.ready or run.started).us + _length(run.started, SETTLING_US)
                self._starts[run.server].append((run.started.us, calm))
                self._moments.append(run.started.us)
            elif run.exemplar is not None and (first := run.exemplar.at) is not None:
                self._openings[run.server].append((first.us, first.us + _length(first, SETTLING_US)))
            window = _stop(run)
            if window is not None:
                self._stops[run.server].append(window)
            if run.last is not None and run.end != "open":
                self._moments.append(run.last.us)
        self._moments.sort()

    def starting(self, server: str, us: int) -> bool:
        """Whether that server had just started."""
        return any(began <= us <= calm for began, calm in self._starts.get(server, ()))

    def stopping(self, server: str, us: int) -> bool:
        """Whether that server was being stopped, in order."""
        return any(began <= us <= end for began, end in self._stops.get(server, ()))

    def stopped_after(self, server: str, us: int) -> bool:
        """Whether that server was stopped in order soon after."""
        within_us = _length(LogTime(us), STOPPING_US)
        return any(us <= end and began - within_us <= us for began, end in self._stops.get(server, ()))

    def restarting(self, us: int) -> bool:
        """Whether any server started or ended around then. Clocks whose zones are unknown are taken to be in one."""
        within_us = _length(LogTime(us), AROUND_US)
        index = bisect_left(self._moments, us - within_us)
        return index < len(self._moments) and self._moments[index] <= us + within_us

    def may_be_noise(self, server: str, first_us: int, last_us: int) -> bool:
        """Whether the lines of that process begin just before, without its start: it may have started then."""
        return any(began <= first_us and last_us <= calm for began, calm in self._openings.get(server, ()))

    def noise(self, server: str, first_us: int, last_us: int) -> bool:
        """Whether all of it fell into a start or a stop of that server."""
        return (self.starting(server, first_us) and self.starting(server, last_us)) or (
            self.stopping(server, first_us) and self.stopping(server, last_us)
        )


_latest: list[tuple[LogEvidence, ProcessTimeline]] = []


def timeline_of(logs: LogEvidence) -> ProcessTimeline:
    """The timeline of this evidence, made once for all rules."""
    if not _latest or _latest[0][0] is not logs:
        _latest[:] = [(logs, ProcessTimeline(logs))]
    return _latest[0][1]


def _stop(run: ProcessRun) -> tuple[int, int] | None:
    if run.last is None or run.end not in ("clean", "lame duck"):
        return None
    began = min(run.last.us, run.jetstream_stopped.us if run.jetstream_stopped else run.last.us)
    return began - _length(run.last, LAME_DUCK_US if run.end == "lame duck" else STOPPING_US), run.last.us


def _length(at: LogTime, length_us: int) -> int:
    """A length of time as the clock of that line counts it."""
    return length_us if at.timed else length_us // 1_000_000 * _BYTES_A_SECOND
