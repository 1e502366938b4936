"""Results of the proof on disk: what was collected for a state of the code, and what each test gave."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tests.proof.dependencies import module_digest
from tests.servers import ROOT

_Line = TypeVar("_Line")

KEPT = ROOT / ".proof"
PRODUCT = ("jsdoctor", "rules", "fixtures")
"""Directories whose content every result depends on. Of tests/, a result depends on what its module does."""
TESTS = ("tests", "tools")


class Collected(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A test that exists. `version` is the nats-server that it runs on, where it has one as a parameter."""

    test: str
    version: str = ""
    nightly: bool = False


class Result(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one run of a test gave: `started`, then `passed`, `failed` or `skipped`.

    `reason` is why it failed or was skipped, `seconds` its duration with set-up and tear-down.
    `figures` are those of `record_property`, or several rows of figures under the name `rows`.
    """

    test: str
    outcome: str
    at: datetime
    seconds: float = 0.0
    reason: str = ""
    figures: dict[str, Any] = {}


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What was tested and on what. `clean` is whether the commit has exactly this state.

    `tests` is the digest of tests/ for which the tests were listed. `settings` are the variables that shorten or
    lengthen tests, over all sittings.
    """

    digest: str
    tests: str
    commit: str
    committed: str
    clean: bool
    python: str
    system: str
    processors: int
    settings: tuple[str, ...] = ()


def digest_of(root: Path = ROOT, names: Sequence[str] = PRODUCT) -> str:
    """Hexadecimal digest of directories as they are on disk, ignored files left out."""
    with tempfile.TemporaryDirectory() as scratch:
        index = {**os.environ, "GIT_INDEX_FILE": str(Path(scratch) / "index")}
        git(root, "read-tree", "HEAD", env=index)
        git(root, "add", "--all", *names, env=index)
        trees = [git(root, "write-tree", f"--prefix={name}/", env=index) for name in names]
    return hashlib.sha256(" ".join(trees).encode()).hexdigest()[:16]


def is_committed(root: Path = ROOT) -> bool:
    """Whether what results depend on is as in the last commit."""
    return not git(root, "status", "--porcelain", "--", *PRODUCT, *TESTS)


def git(root: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    """What a git command printed. Raises CalledProcessError."""
    done = subprocess.run(["git", *arguments], cwd=root, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def results_path(digest: str, slice_name: str, module: str, kept: Path = KEPT) -> Path:
    """The file of one piece: a module of a slice, with what it depends on in tests/ as it is now."""
    return kept / digest / slice_name / f"{module.removesuffix('.py').replace('/', '.')}.{module_digest(module)}.jsonl"


def last_results_path(digest: str, slice_name: str, module: str, kept: Path = KEPT) -> Path:
    """The file of a piece with its last run for a state, whatever the tests were then: they may have changed since."""
    path = results_path(digest, slice_name, module, kept)
    written = path.parent.glob(f"{path.name.rsplit('.', 2)[0]}.*.jsonl")
    return max(written, key=_last_run, default=path)


def failures_path(results: Path) -> Path:
    """Where the texts of the failures of that file of results are kept: the page has one line of each."""
    return results.with_suffix(".failures.txt")


def collected_path(digest: str, kept: Path = KEPT) -> Path:
    """The list of all tests of a state."""
    return kept / digest / "collected.jsonl"


def read_results(path: Path) -> list[Result]:
    """All results of a piece in the order in which they came; empty where it was never run."""
    return list(_lines(path, Result))


def read_collected(digest: str, kept: Path = KEPT) -> list[Collected]:
    """All tests of a state; empty where they were not collected."""
    return list(_lines(collected_path(digest, kept), Collected))


def read_state(digest: str, kept: Path = KEPT) -> State:
    """What was tested. Raises OSError where there was no run of this state."""
    return msgspec.json.decode((kept / digest / "state.json").read_bytes(), type=State)


def append(path: Path, line: msgspec.Struct) -> None:
    """Add a line to a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def forget_unfinished(path: Path) -> None:
    """Leave out runs that started and did not end: they were interrupted, and are to run again."""
    results = read_results(path)
    ends = Counter(result.test for result in results if result.outcome != "started")
    kept = []
    for result in results:
        if result.outcome == "started":
            if not ends[result.test]:
                continue
            ends[result.test] -= 1
        kept.append(result)
    if len(kept) < len(results):
        path.write_bytes(b"".join(msgspec.json.encode(result) + b"\n" for result in kept))


def _last_run(path: Path) -> datetime:
    return max((result.at for result in read_results(path)), default=datetime.min.replace(tzinfo=UTC))


def _lines(path: Path, kind: type[_Line]) -> Iterator[_Line]:
    if path.exists():
        for line in path.read_bytes().splitlines():
            try:
                yield msgspec.json.decode(line, type=kind)
            except msgspec.DecodeError:  # the run was killed while it wrote
                continue
