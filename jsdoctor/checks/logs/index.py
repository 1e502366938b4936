"""Log evidence by server, for checks that ask about each of many servers."""

from __future__ import annotations

from collections import defaultdict

from jsdoctor.model.log import LogEvidence, LogTime, ProcessRun


class Index:
    """The processes of each server, and the levels of its lines at both ends of its files."""

    def __init__(self, logs: LogEvidence) -> None:
        runs: dict[str, list[ProcessRun]] = defaultdict(list)
        for run in logs.runs:
            runs[run.server].append(run)
        self._runs = {server: tuple(mine) for server, mine in runs.items()}
        self._lasts = {server.name: server.last for server in logs.servers}
        self._levels: dict[str, set[str]] = defaultdict(set)
        self._shared: set[str] = set()
        for file in logs.files:
            for server in file.servers if file.server_lines else ():
                self._levels[server].update(file.levels)
            if file.server_lines and not file.servers:
                self._shared.update(file.levels)

    def runs_of(self, server: str) -> tuple[ProcessRun, ...]:
        """The processes of a server, oldest first."""
        return self._runs.get(server, ())

    def last_of(self, server: str) -> LogTime | None:
        """The last time in the logs of a server, None for others."""
        return self._lasts.get(server)

    def lacks_level(self, server: str, level: str) -> bool:
        """Whether the files of a server look as if lines of that level had been left out: `grep WRN` does that."""
        levels = self._levels.get(server, set()) | self._shared
        return bool(levels) and level not in levels


_latest: list[tuple[LogEvidence, Index]] = []


def index_of(logs: LogEvidence) -> Index:
    """The index of this evidence. It is built once, and all rules share it."""
    if not _latest or _latest[0][0] is not logs:
        _latest[:] = [(logs, Index(logs))]
    return _latest[0][1]
