"""The judgement of mutants, as a plugin of pytest.

The tests are collected once and run once as they are. For each mutant, those that reach it run again, quickest first,
until one fails. Forked processes judge some mutants each, so that an endless loop ends one of them and no more, and
one that fills the memory ends itself.
"""

from __future__ import annotations

import gc
import os
import resource
import selectors
import signal
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import IO

import pytest

from tests.mutation.apply import NotAppliedError, applied, can_apply
from tests.mutation.operators import Mutant
from tests.mutation.reach import Baseline, in_a_fork, measured, passes
from tests.support import evidence, log_cases, packet_cases
from tools import edges, golden_cases

MIN_TIMEOUT_S = 5
MAX_MORE_MEMORY_BYTES = 1 << 30
"""A mutant that takes so much more memory than the tests without it fails, where the system can limit it (Linux)."""
CHUNK = 50
"""Mutants that are judged in one forked process: to fork takes longer than the tests of a rule."""
TIMES_LONGER = 10
"""A mutant that needs so many times the processor time of its tests is in an endless loop."""
MAX_WAIT_S = 300
"""A mutant that takes so much longer than that waits for something that does not come."""


class Verdict(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"
    NOT_REACHED = "not reached"
    NOT_RUN = "not run"
    EQUIVALENT = "equivalent"

    @property
    def is_killed(self) -> bool:
        """A test noticed it."""
        return self in (Verdict.KILLED, Verdict.TIMEOUT)

    @property
    def is_survivor(self) -> bool:
        """No test noticed it."""
        return self in (Verdict.SURVIVED, Verdict.NOT_REACHED)


class Judge:
    """The plugin. Each of `jobs` processes judges its share of the mutants; `report` receives each verdict."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        source: Path,
        report: Callable[[Mutant, Verdict], None],
        *,
        jobs: int,
        constant_evidence: bool,
    ) -> None:
        self.mutants, self.source, self.report, self.jobs = mutants, source, report, jobs
        self.constant_evidence = constant_evidence
        self.items: dict[str, pytest.Item] = {}
        self.baseline = Baseline()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests once."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        self.items = {item.nodeid: item for item in session.items}
        if self.constant_evidence:
            _read_cases_once()
            self.baseline = measured(self.items, self.source)
        else:
            _read_cases_each_time()
            self.baseline = in_a_fork(lambda: measured(self.items, self.source))
        if self.baseline.failed:
            raise pytest.UsageError(f"these tests fail without any mutant: {self.baseline.failed}")
        self._judge_all()
        return True

    def _judge_all(self) -> None:
        gc.collect()
        gc.freeze()
        readers = []
        for number in range(self.jobs):
            read, write = os.pipe()
            if not os.fork():
                os.close(read)
                self._worker(number, write)
            os.close(write)
            readers.append(os.fdopen(read))
        self._collect(readers)

    def _worker(self, number: int, pipe: int) -> None:
        waiting = list(range(number, len(self.mutants), self.jobs))
        with os.fdopen(pipe, "w") as out:
            while waiting:
                verdicts, clean = self._in_one_process(waiting[:CHUNK])
                if not clean:
                    verdicts = [self._in_one_process([place])[0][0] for place in waiting[: len(verdicts)]]
                for place, verdict in zip(waiting, verdicts, strict=False):
                    print(place, verdict.value, sep="\t", file=out, flush=True)
                waiting = waiting[len(verdicts) :]
        os._exit(0)

    def _in_one_process(self, places: Sequence[int]) -> tuple[list[Verdict], bool]:
        """The verdicts on these mutants, or up to the first that does not end; and whether the tests still pass."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            self._child(places, write)
        os.close(write)
        with os.fdopen(read) as lines:
            *verdicts, last = [line.rstrip("\n") for line in lines] or [""]
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            done = [*verdicts, last] if last else []
            return [*map(Verdict, done), Verdict.TIMEOUT], True
        return list(map(Verdict, verdicts)), last == "clean"

    def _child(self, places: Sequence[int], pipe: int) -> None:
        """Never returns."""
        for ends in (signal.SIGVTALRM, signal.SIGALRM):
            signal.signal(ends, signal.SIG_DFL)
        _limit_memory()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        used: set[str] = set()
        for place in places:
            names = self.baseline.tests_of(self.mutants[place])
            seconds = sum(self.baseline.seconds[name] for name in names)
            longest = MIN_TIMEOUT_S + TIMES_LONGER * seconds
            signal.setitimer(signal.ITIMER_VIRTUAL, longest)
            signal.setitimer(signal.ITIMER_REAL, MAX_WAIT_S + longest)
            verdict = judged(self.mutants[place], [self.items[name] for name in names])
            os.write(pipe, f"{verdict.value}\n".encode())
            used.update(names)
        for timer in (signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        clean = len(places) == 1 or all(passes(self.items[name]) for name in sorted(used))
        os.write(pipe, b"clean\n" if clean else b"changed\n")
        os._exit(0)

    def _collect(self, readers: Iterable[IO[str]]) -> None:
        """The lines of all workers, in the order in which they come."""
        with selectors.DefaultSelector() as selector:
            for reader in readers:
                selector.register(reader, selectors.EVENT_READ, reader)
            while selector.get_map():
                for ready, _ in selector.select():
                    line = ready.data.readline()
                    if line:
                        place, verdict = line.rstrip("\n").split("\t")
                        self.report(self.mutants[int(place)], Verdict(verdict))
                    else:
                        selector.unregister(ready.data)
                        ready.data.close()


def judged(mutant: Mutant, items: Sequence[pytest.Item]) -> Verdict:
    """Run these tests with the mutant, in this process."""
    if not can_apply(mutant):
        return Verdict.NOT_RUN
    if not items:
        return Verdict.NOT_REACHED
    try:
        with applied(mutant):
            return Verdict.SURVIVED if all(map(passes, items)) else Verdict.KILLED
    except NotAppliedError:
        return Verdict.NOT_RUN
    except BaseException:  # noqa: BLE001 - a mutant that cannot be loaded, or that ends the program
        return Verdict.KILLED


def _limit_memory() -> None:
    used = Path("/proc/self/statm")
    if used.exists():
        limit = int(used.read_text("ascii").split()[0]) * resource.getpagesize() + MAX_MORE_MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _read_cases_each_time() -> None:
    """What tests keep of their cases was read without the mutant."""
    evidence._evidence_of = evidence._evidence_of.__wrapped__  # type: ignore[assignment]
    log_cases._evidence_of = log_cases._evidence_of.__wrapped__  # type: ignore[assignment]
    log_cases.matcher = log_cases.matcher.__wrapped__  # type: ignore[assignment]
    packet_cases.captured = packet_cases.captured.__wrapped__  # type: ignore[assignment]


def _read_cases_once() -> None:
    """The cases of rules are the same for each mutant of a package that makes no evidence."""
    made = golden_cases.cases_of
    golden_cases.cases_of = cache(lambda code: list(made(code)))  # type: ignore[assignment]
    edges.tried = cache(edges.tried)
