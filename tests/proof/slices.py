"""The slices of the proof, as `slices.toml` declares them, and the test modules of each."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from tests.servers import BETWEEN, ROOT

DATA = Path(__file__).with_name("slices.toml")
TESTS = ROOT / "tests"


class Slice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One slice. `select` has globs below tests/; `minutes` is how long one sitting works on it.

    Without `nightly` it leaves out tests with that mark, without `between` those on a release of `BETWEEN`.
    """

    name: str
    shows: str
    select: tuple[str, ...]
    nightly: bool = True
    between: bool = False
    minutes: float = 30.0

    def takes(self, module: str) -> bool:
        """Whether a module, given by its path below tests/, is selected."""
        return any(fnmatchcase(module, glob) for glob in self.select)

    def includes(self, version: str, *, nightly: bool) -> bool:
        """Whether a test of a selected module is part of the slice. `version`: of its nats-server, or empty."""
        return (self.nightly or not nightly) and (self.between or version not in BETWEEN)


class _Slices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    slice: tuple[Slice, ...]


def load_slices() -> tuple[Slice, ...]:
    """All slices in the order of their declaration. Raises msgspec.ValidationError."""
    return msgspec.convert(tomllib.loads(DATA.read_text("utf-8")), _Slices).slice


def modules(tests: Path = TESTS) -> list[str]:
    """Every test module by its path below tests/, in order."""
    return sorted(path.relative_to(tests).as_posix() for path in tests.rglob("test_*.py"))


def modules_of(slices: Sequence[Slice], tests: Path = TESTS) -> dict[str, list[str]]:
    """The modules of each slice: a module belongs to the first slice that selects it."""
    chosen: dict[str, list[str]] = {proof_slice.name: [] for proof_slice in slices}
    for module in modules(tests):
        owner = next((proof_slice for proof_slice in slices if proof_slice.takes(module)), None)
        if owner is not None:
            chosen[owner.name].append(module)
    return chosen
