"""Which tests reach which lines, and so which tests may notice a mutant."""

from __future__ import annotations

import ast
import contextlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, ModuleType

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.apply import assigned, codes, followers, holders
from tests.mutation.operators import Mutant


@dataclass
class Baseline:
    """What the tests do without any change."""

    seconds: dict[str, float] = field(default_factory=dict)
    """Processor time by test."""
    failed: list[str] = field(default_factory=list)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """By file and line: the tests that reach it."""

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that reach a mutant, quickest first."""
        module = sys.modules.get(mutant.module)
        if module is None or module.__file__ is None:
            return []
        if mutant.is_constant:
            names = set().union(*self._readers(module, mutant.owner))
        else:
            names = self._reaching(module.__file__, range(mutant.lines[0], mutant.lines[1] + 1))
        return sorted(names, key=lambda name: self.seconds[name])

    def _reaching(self, path: str, lines: Iterable[int]) -> set[str]:
        known = self.lines.get(path, {})
        return set().union(*(known.get(line, set()) for line in lines))

    def _readers(self, module: ModuleType, constant: str) -> Iterator[set[str]]:
        """The tests that reach a function that uses this constant, or one that is made from it."""
        for name in {constant}.union(*map(assigned, followers(module, constant))):
            for holder in holders(module, name):
                path = holder.__file__ or ""
                for code in _functions(Path(path)):
                    if name in code.co_names:
                        yield self._reaching(path, {line for _, _, line in code.co_lines() if line})


def measured(items: Mapping[str, pytest.Item], source: Path) -> Baseline:
    """Run all tests once, unchanged."""
    baseline = Baseline()
    with TemporaryDirectory() as directory:
        recorder = coverage.Coverage(data_file=f"{directory}/data", source=[str(source)], branch=False)
        recorder.start()
        for item in items.values():
            recorder.switch_context(item.nodeid)
            start = time.process_time()
            if not passes(item):
                baseline.failed.append(item.nodeid)
            baseline.seconds[item.nodeid] = time.process_time() - start
        recorder.stop()
        data = recorder.get_data()
        for path in data.measured_files():
            by_line = data.contexts_by_lineno(path)
            baseline.lines[path] = {line: {name for name in names if name} for line, names in by_line.items()}
    return baseline


def passes(item: pytest.Item) -> bool:
    """Run one test, with its fixtures."""
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def in_a_fork(work: Callable[[], Baseline]) -> Baseline:
    """So that what the tests do fills no cache of this process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        with contextlib.suppress(BaseException), os.fdopen(write, "wb") as out:
            pickle.dump(work(), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as results:
        baseline: Baseline = pickle.load(results)  # noqa: S301 - from our own child
    os.waitpid(child, 0)
    return baseline


def _functions(path: Path) -> Iterator[CodeType]:
    return codes(compile(ast.parse(path.read_text(encoding="utf-8")), str(path), "exec"))
