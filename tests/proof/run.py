"""Runs what is left of a slice: one pytest process for each module, until the time of the sitting is over."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from jsdoctor.model.wording import counted
from tests.proof.published import restore
from tests.proof.recorder import Order
from tests.proof.results import (
    KEPT,
    TESTS,
    Collected,
    Result,
    State,
    collected_path,
    digest_of,
    forget_unfinished,
    git,
    is_committed,
    read_collected,
    read_results,
    read_state,
    results_path,
)
from tests.proof.slices import Slice, modules_of
from tests.servers import ROOT, VERSIONS

PATIENCE_S = 900
"""How much longer than its time a process may take: no test takes longer than this."""
_AS_MAKE_TEST = ("-m", "not nightly", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")


def prepare() -> str:
    """Note what is tested, list its tests, and return its digest. Each is done once for a state of the code."""
    digest = digest_of()
    here = KEPT / digest
    if restore(digest):
        sys.stdout.write("going on from the published results\n")
    here.mkdir(parents=True, exist_ok=True)
    # The page is published: of a setting that is a path, its name is enough.
    tests = digest_of(names=TESTS)
    listed_for = ""
    settings = {
        name if os.sep in value else f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("JSDOCTOR_")
    }
    with contextlib.suppress(OSError):
        before = read_state(digest)
        listed_for = before.tests
        settings |= set(before.settings)
    commit, committed = git(ROOT, "log", "-1", "--format=%H %cs").split()
    state = State(
        digest=digest,
        tests=tests,
        commit=commit,
        committed=committed,
        clean=is_committed(),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processors=len(os.sched_getaffinity(0)),
        settings=tuple(sorted(settings)),
    )
    if listed_for != tests or not collected_path(digest).exists():
        listed = here / "collected.part"
        listed.unlink(missing_ok=True)
        _pytest(Order(collect_to=str(listed)), ["--collect-only", "tests"], PATIENCE_S)
        listed.rename(collected_path(digest))
    noted = here / f"state.{os.getpid()}.part"  # renamed when whole: slices that start side by side read it
    noted.write_bytes(msgspec.json.format(msgspec.json.encode(state)))
    noted.rename(here / "state.json")
    return digest


class Piece(NamedTuple):
    """Tests of one module that one pytest process runs: those of one server version, or those of none."""

    slice: str
    module: str
    results: Path
    tests: frozenset[str]

    def __str__(self) -> str:
        return f"{self.slice}: {self.module}, {counted(len(self.tests), 'test')}"


def run_slice(
    slices: Sequence[Slice],
    proof_slice: Slice,
    digest: str,
    *,
    minutes: float,
    version: str = "",
    again: int = 0,
    lanes: int = 1,
) -> bool:
    """Run what is left of a slice, newest server first; or its failed tests *again* times. Whether all was run.

    *lanes* is the number of pieces that are run side by side.
    """
    until = time.time() + 60 * minutes
    tests = _by_module(read_collected(digest), proof_slice, modules_of(slices)[proof_slice.name], version)
    pieces = [
        Piece(proof_slice.name, module, path, frozenset(group))
        for module, of_module in tests.items()
        for path in [results_path(digest, proof_slice.name, module)]
        for left in [_failing(read_results(path)) if again else {test.test for test in of_module} - _done(path)]
        for group in _by_version(left & {test.test for test in of_module}, of_module)
    ]
    running: set[subprocess.Popen[str]] = set()
    with ThreadPoolExecutor(lanes) as pool:
        waiting = [pool.submit(_run_piece, piece, until, running) for piece in pieces * max(again, 1)]
        try:
            for piece in waiting:
                piece.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in tuple(running):
                _kill(process)
            for interrupted in pieces:
                forget_unfinished(interrupted.results)
            raise
    return all(
        {test.test for test in of} <= _done(results_path(digest, proof_slice.name, name)) for name, of in tests.items()
    )


def run_suite(slices: Sequence[Slice], digest: str, *, minutes: float) -> None:
    """Run what `make test` has and has no result yet, as it does: on all processors, and one start for all modules."""
    collected, of_slices = read_collected(digest), modules_of(slices)
    files = {
        f"tests/{module}": results_path(digest, name, module)
        for name, of_slice in of_slices.items()
        for module in of_slice
    }
    done = set().union(*(_done(path) for path in files.values()))
    tests = frozenset(
        test.test
        for proof_slice in slices
        for of_module in _by_module(collected, proof_slice, of_slices[proof_slice.name], "").values()
        for test in of_module
        if not test.nightly
    )
    tests -= done
    if tests:
        sys.stdout.write(f"{counted(len(tests), 'test')} of `make test`\n")
        sys.stdout.flush()
        until = time.time() + 60 * minutes
        order = Order(tests=tests, results={name: str(path) for name, path in files.items()}, until=until)
        try:
            _pytest(order, [*_AS_MAKE_TEST, "tests"], until - time.time() + PATIENCE_S)
        except BaseException:
            for path in files.values():
                forget_unfinished(path)
            raise


def _run_piece(piece: Piece, until: float, running: set[subprocess.Popen[str]]) -> None:
    if time.time() <= until:
        sys.stdout.write(f"{piece}\n")
        sys.stdout.flush()
        order = Order(tests=piece.tests, results={f"tests/{piece.module}": str(piece.results)}, until=until)
        _pytest(order, [f"tests/{piece.module}"], until - time.time() + PATIENCE_S, running)


def _by_module(
    collected: Sequence[Collected], proof_slice: Slice, wanted: Sequence[str], version: str
) -> dict[str, list[Collected]]:
    by_module: defaultdict[str, list[Collected]] = defaultdict(list)
    for test in collected:
        module = test.test.partition("::")[0].removeprefix("tests/")
        included = module in wanted and proof_slice.includes(test.version, nightly=test.nightly)
        if included and test.version in {version or test.version, ""}:
            by_module[module].append(test)
    return by_module


def _by_version(wanted: set[str], tests: Sequence[Collected]) -> list[set[str]]:
    """Tests without a version, then those of each version, newest first: so that a short sitting has the newest."""
    groups = [
        {test.test for test in tests if test.version == version} & wanted for version in ("", *reversed(VERSIONS))
    ]
    return [group for group in groups if group]


def _done(path: Path) -> set[str]:
    """Tests of a piece that were started. One that was cut off is among them: it would be cut off again."""
    return {result.test for result in read_results(path)}


def _failing(results: Sequence[Result]) -> set[str]:
    """Tests that failed at least once, or were cut off."""
    ended = Counter(result.test for result in results if result.outcome != "started")
    started = Counter(result.test for result in results if result.outcome == "started")
    failed = {result.test for result in results if result.outcome == "failed"}
    return failed | {test for test, count in started.items() if count > ended[test]}


def _pytest(
    order: Order, arguments: Sequence[str], timeout_s: float, running: set[subprocess.Popen[str]] | None = None
) -> None:
    """One pytest process and all that it started; its results are in files, its exit code says nothing more.

    The process is among *running* while it runs.
    """
    with tempfile.TemporaryDirectory(prefix="jsdoctor-proof-") as scratch:
        path = Path(scratch) / "order.json"
        path.write_bytes(msgspec.json.encode(order))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.proof.recorder", "-p", "no:cacheprovider"]
        command += ["--proof-order", str(path), "--basetemp", str(Path(scratch) / "tests"), *arguments]
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        running = running if running is not None else set()
        running.add(process)
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return
        finally:
            _kill(process)
            running.discard(process)
    if process.returncode not in {0, 1, 2, -signal.SIGKILL}:  # passed, failed, stopped in time, interrupted
        sys.stdout.write(output)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
