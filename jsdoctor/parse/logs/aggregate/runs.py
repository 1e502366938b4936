"""Process runs of the servers in one series: starts, ends, and what each said of itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from jsdoctor.model.log import Exemplar, LogTime, ProcessRun
from jsdoctor.model.log_line import DATED_US
from jsdoctor.parse.logs.aggregate.series import File, Names
from jsdoctor.parse.logs.lines import builtin
from jsdoctor.parse.logs.scan.rows import MarkRow, ProcessRef, SegmentRow

_ONCE = (builtin.ID, builtin.READY)
"""What a process logs once."""

_NORMAL_STOP_US = 5_000_000
_FATAL_WORDS = re.compile(
    r"Can't (?:set|start) |Could not (?:start resolver|write pidfile)|Error (?:listening on|setting|starting monitor)"
    r"|Not allowed to enable JetStream|Unable to (?:get websocket|listen for)|error starting profiler"
    r"|websocket listener|STREAM: "
)
"""How the fatal lines of nats-server begin (`Fatalf` in server/*.go)."""

_CLOSING = (builtin.STOPPING, builtin.LAME_DUCK, builtin.EXIT)


class OpenRun:
    """A process while its lines are gathered."""

    def __init__(self, file: File, start: int, process: ProcessRef, offset: int) -> None:
        self.file, self.start, self.process, self.offset = file, start, process, offset
        self.last_file = file
        self.started = False
        self.exemplar: Exemplar | None = None
        self.last: LogTime | None = None
        self.marks: dict[str, MarkRow] = {}
        self.firsts: dict[str, MarkRow] = {}

    def add_mark(self, file: File, mark: MarkRow) -> None:
        """Add a line that shows a state change of the process."""
        self.last_file = file
        self.marks[mark.name] = mark
        self.firsts.setdefault(mark.name, mark)
        at = time_of(file, mark)
        if at is not None:
            self.last = at if self.last is None else max(self.last, at)
        if mark.name == builtin.START:
            self.started = True
            self.exemplar = file.exemplar(mark.start, mark.seen, at)

    def add_segment(self, file: File, segment: SegmentRow) -> None:
        """Lines of the process in one part."""
        self.last_file = file
        last = file.time(segment.highest_us)
        self.last = last if self.last is None else max(self.last, last)
        if self.exemplar is None:
            self.exemplar = file.exemplar(segment.start, segment.first, file.time(segment.first_us))

    def text(self, name: str) -> str:
        """What the last mark of that name captured."""
        mark = self.marks.get(name)
        return mark.seen.fields[0][1] if mark is not None and mark.seen.fields else ""

    def at(self, name: str) -> LogTime | None:
        """When the last mark of that name was written."""
        mark = self.marks.get(name)
        return None if mark is None else time_of(self.last_file, mark)

    def end(self, followed: bool) -> str:
        """How it ended; see `ProcessRun.end`. `followed`: the next process of the server starts."""
        if builtin.EXIT in self.marks:
            return "lame duck" if builtin.LAME_DUCK in self.marks else "clean"
        if self._failed():
            return "failed"
        if not followed:
            return "open"
        return "interrupted" if builtin.STOPPING in self.marks else "unclean"

    def _failed(self) -> bool:
        """Whether the server wrote a fatal line. Serilog has the same mark, so a bare line needs server text, too."""
        if builtin.FATAL not in self.marks:
            return False
        at = self.at(builtin.FATAL)
        signed = self.started or self.process.pid is not None or (at is not None and at.us >= DATED_US)
        return signed or _FATAL_WORDS.match(self.text(builtin.FATAL)) is not None

    def jetstream_stopped(self) -> LogTime | None:
        """When JetStream was shut down on a server that went on: not as part of a stop."""
        stopped = self.at(builtin.JETSTREAM_STOP)
        closing = [at for name in _CLOSING if (at := self.at(name)) is not None]
        if stopped is None or any(at.us - stopped.us <= _NORMAL_STOP_US for at in closing):
            return None
        return stopped


def time_of(file: File, mark: MarkRow) -> LogTime | None:
    """When a marked line was written."""
    if mark.seen.us is not None:
        return LogTime(mark.seen.us, mark.seen.zoned)
    return None if mark.native_us is None else file.time(mark.native_us)


def gather(
    files: Sequence[File],
    marks: dict[str, list[MarkRow]],
    segments: dict[str, list[SegmentRow]],
) -> list[OpenRun]:
    """All runs of a series. `files` are oldest first; a process goes on from file to file under one `ProcessRef`."""
    carried: dict[ProcessRef, OpenRun] = {}
    runs: list[OpenRun] = []
    for file in files:
        name = file.part.name
        items: list[tuple[int, int, MarkRow | SegmentRow]] = [
            (mark.seen.offset, mark.name != builtin.START, mark) for mark in marks.get(name, ())
        ]
        items.extend((segment.first.offset, 2, segment) for segment in segments.get(name, ()))
        current = carried
        for offset, _, item in sorted(items, key=lambda item: item[:2]):
            process = file.process(item.start, item.process)
            run = current.get(process)
            begins = isinstance(item, MarkRow) and item.name == builtin.START
            if run is None or begins:
                run = current[process] = OpenRun(file, item.start, process, offset)
                runs.append(run)
            if isinstance(item, MarkRow):
                run.add_mark(file, item)
            else:
                run.add_segment(file, item)
    return runs


def finished(runs: Iterable[OpenRun], names: Names) -> list[ProcessRun]:
    """The runs of a series as evidence, by server, oldest first."""
    by_server: dict[str, list[OpenRun]] = defaultdict(list)
    for run in runs:
        own = run.text(builtin.NAME)
        server = own if own and not run.file.part.server else names.of(run.file, run.start, run.process, run.offset)[0]
        by_server[server].append(run)
    process_runs = []
    for server, mine in sorted(by_server.items()):
        for number, run in enumerate(mine):
            after = next((later for later in mine[number + 1 :] if not _beside(run, later)), None)
            process_runs.append(_finished(server, run, after))
    return process_runs


def _beside(run: OpenRun, later: OpenRun) -> bool:
    """Whether a process logged on after another one had started: two servers whose lines mix, and no restart.

    Without process ids, lines that a process logs once are there twice.
    """
    if run.process == later.process:
        return any(later.firsts[name] is not later.marks[name] for name in _ONCE if name in later.marks)
    started = later.at(builtin.START)
    if run.last is None or started is None or run.last.zoned != started.zoned:
        return False
    return run.last.us > started.us


def _finished(server: str, run: OpenRun, after: OpenRun | None) -> ProcessRun:
    followed = after is not None and after.started
    stops = run.at(builtin.START)
    return ProcessRun(
        server=server,
        started=stops,
        ready=run.at(builtin.READY),
        last=run.last,
        end=run.end(followed),
        signal=run.text(builtin.SIGNAL),
        version=run.text(builtin.VERSION),
        server_id=run.text(builtin.ID),
        pid=run.process.pid,
        bootstrapped=builtin.BOOTSTRAP in run.marks,
        recovered=builtin.RECOVER in run.marks,
        jetstream_stopped=run.jetstream_stopped(),
        reloaded=run.at(builtin.RELOADED),
        panic=run.text(builtin.PANIC),
        fatal=run.text(builtin.FATAL),
        same_file=after is None or after.file is run.last_file,
        exemplar=run.exemplar,
    )
