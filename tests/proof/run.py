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
from pathlib import Path

import msgspec

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


def run_slice(
    slices: Sequence[Slice], proof_slice: Slice, digest: str, *, minutes: float, version: str = "", again: int = 0
) -> bool:
    """Run what is left of a slice, newest server first; with *again*, its failed tests. Whether all was run."""
    until = time.time() + 60 * minutes
    tests = _by_module(
        read_collected(digest), modules_of(slices)[proof_slice.name], version, nightly=proof_slice.nightly
    )
    for round_ in range(again or 1):
        for module, of_module in tests.items():
            path = results_path(digest, proof_slice.name, module)
            wanted = _failing(read_results(path)) if again else {test.test for test in of_module} - _done(path)
            for group in _by_version(wanted & {test.test for test in of_module}, of_module):
                if time.time() > until:
                    return False
                label = f"{proof_slice.name}: {module}, {len(group)} tests" + (
                    f", run {round_ + 1} of {again}" if again else ""
                )
                sys.stdout.write(f"{label}\n")
                sys.stdout.flush()
                order = Order(tests=frozenset(group), results=str(path), until=until)
                _pytest(order, [f"tests/{module}"], until - time.time() + PATIENCE_S)
    return all(
        {test.test for test in of} <= _done(results_path(digest, proof_slice.name, name)) for name, of in tests.items()
    )


def _by_module(
    collected: Sequence[Collected], wanted: Sequence[str], version: str, *, nightly: bool
) -> dict[str, list[Collected]]:
    by_module: defaultdict[str, list[Collected]] = defaultdict(list)
    for test in collected:
        module = test.test.partition("::")[0].removeprefix("tests/")
        if module in wanted and test.version in {version or test.version, ""} and (nightly or not test.nightly):
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


def _pytest(order: Order, arguments: Sequence[str], timeout_s: float) -> None:
    """One pytest process and all that it started; its results are in files, its exit code says nothing more."""
    with tempfile.TemporaryDirectory(prefix="jsdoctor-proof-") as scratch:
        path = Path(scratch) / "order.json"
        path.write_bytes(msgspec.json.encode(order))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.proof.recorder", "-p", "no:cacheprovider"]
        command += ["--proof-order", str(path), "--basetemp", str(Path(scratch) / "tests"), *arguments]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        ) as process:
            try:
                output, _ = process.communicate(timeout=timeout_s)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                return
    if process.returncode not in {0, 1, 2}:  # passed, failed, stopped in time
        sys.stdout.write(output)
