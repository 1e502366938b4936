"""The runner itself: which changes it makes, and that it sees what a test notices and what none does."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.operators import Mutant, changed, mutants_of
from tests.mutation.results import ROOT, equivalents, package_mutants, suites

CODE = '''\
"""A module."""

import threading

LIMIT = 3
DOUBLE = LIMIT * 2


def names(values, least=1):
    """Those that count."""
    for value in values:
        if value < least:
            continue
        yield f"no {value}"


class Box:
    size = 4

    @property
    def is_full(self):
        return self.size >= DOUBLE


def endless(n):
    while n > 0:
        n -= 1
    return n


def asleep(n):
    if n > 3:
        threading.Event().wait()
    return n


def hoard(n):
    kept = []
    while n > 0:
        kept.append(bytes(500_000_000))  # of zeros: only the room for them is taken, which takes no time
        n -= 1
    return len(kept)


def unread():
    return "nobody looks"


def same(a):
    return max(a, 0) if a > 0 else 0
'''
TESTS = """\
import boxes


def test_names():
    assert list(boxes.names([0, 1, 2])) == ["no 1", "no 2"]


def test_box():
    box = boxes.Box()
    assert not box.is_full
    box.size = 6
    assert box.is_full


def test_endless():
    assert boxes.endless(3) == 0


def test_asleep():
    assert boxes.asleep(3) == 3


def test_hoard():
    assert boxes.hoard(3) == 3


def test_same():
    assert [boxes.same(value) for value in (-1, 0, 1)] == [0, 0, 1]
"""
RUN = """\
import sys
from pathlib import Path
import pytest
from tests.mutation import judge
from tests.mutation.operators import mutants_of

judge.MIN_TIMEOUT_S, judge.MAX_WAIT_S = 1, 2
here = Path(sys.argv[1])
sys.path.insert(0, str(here))
seen = []
plugin = judge.Judge(
    mutants_of(here / "boxes.py", "boxes"), here, lambda *told: seen.append(told), jobs=2, constant_evidence=False
)
plain = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", f"--rootdir={here}"]
code = pytest.main([*plain, str(here)], plugins=[plugin])
for mutant, verdict in seen:
    print(mutant.owner, mutant.change, verdict.value, sep="|", file=sys.__stderr__)
sys.exit(int(code))
"""


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    (tmp_path / "boxes.py").write_text(CODE, "utf-8")
    (tmp_path / "test_boxes.py").write_text(TESTS, "utf-8")
    return tmp_path


def mutants(boxes: Path, owner: str) -> list[Mutant]:
    return [mutant for mutant in mutants_of(boxes / "boxes.py", "boxes") if mutant.owner == owner]


def test_changes(boxes: Path) -> None:
    assert [mutant.change for mutant in mutants(boxes, "names")] == [
        "1 to 2",
        "< to <=",
        "continue to break",
        "statement removed",
        "text changed",
    ]
    assert [mutant.change for mutant in mutants(boxes, "LIMIT")] == ["3 to 4"]
    assert [mutant.change for mutant in mutants(boxes, "Box.is_full")] == [">= to >"]


def test_a_change_is_taken_back(boxes: Path) -> None:
    (mutant,) = mutants(boxes, "Box.is_full")
    before = compile_text(mutant)
    with changed(mutant):
        assert compile_text(mutant) != before
    assert compile_text(mutant) == before


def compile_text(mutant: Mutant) -> str:
    return ast.unparse(mutant.statement)


def test_verdicts(boxes: Path) -> None:
    """Changed functions, properties, constants and defaults are noticed where a test looks, and loops and waits end."""
    command = [sys.executable, "-c", RUN, str(boxes)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    verdicts = {tuple(line.split("|")) for line in run.stderr.splitlines() if "|" in line}
    assert verdicts >= {
        ("LIMIT", "3 to 4", "killed"),
        ("DOUBLE", "* to /", "killed"),
        ("names", "1 to 2", "killed"),
        ("names", "< to <=", "killed"),
        ("names", "continue to break", "killed"),
        ("names", "statement removed", "killed"),
        ("names", "text changed", "killed"),
        ("Box.size", "4 to 5", "not run"),
        ("Box.is_full", ">= to >", "killed"),
        ("endless", "- to + in assignment", "timeout"),
        ("asleep", "> to >=", "timeout"),
        ("hoard", "- to + in assignment", "killed"),
        ("unread", "text changed", "not reached"),
        ("same", "> to >=", "survived"),
    }


@pytest.mark.parametrize("package", sorted(suites()))
def test_listed_equivalents_are_mutants(package: str) -> None:
    """A reason outlives its line otherwise."""
    prefix = ".".join(suites()[package].path.relative_to(ROOT).parts)
    there = {
        (mutant.module, mutant.owner, mutant.change, mutant.code, number)
        for mutant in package_mutants(package)
        for number in (mutant.number, None)
    }
    listed = {entry for entry in equivalents() if entry[0].startswith(f"{prefix}.")}
    assert listed <= there, listed - there
