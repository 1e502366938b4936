"""What became of each mutant, kept in `.mutation/PACKAGE.json` from run to run.

A verdict belongs to the line that was changed: it is kept while that line stays as it is.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutation.judge import Verdict
from tests.mutation.operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / ".mutation"
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Suite:
    """A package of `suites.toml` and the tests that judge it."""

    path: Path
    tests: tuple[str, ...]
    goal: float | None
    constant_evidence: bool


@dataclass(frozen=True, slots=True)
class Score:
    """How many mutants a package has, and how many of them the tests notice."""

    mutants: int
    killed: int
    survived: int
    equivalent: int
    not_run: int

    @property
    def ratio(self) -> float:
        """Killed of those that can be killed and were run. 0 if none was."""
        run = self.killed + self.survived
        return self.killed / run if run else 0.0


def suites() -> dict[str, Suite]:
    """Every package that is tested by mutation."""
    declared = tomllib.loads((HERE / "suites.toml").read_text(encoding="utf-8"))
    return {
        name: Suite(ROOT / suite["path"], tuple(suite["tests"]), suite.get("goal"), suite.get("evidence") == "constant")
        for name, suite in declared.items()
    }


def package_mutants(package: str) -> list[Mutant]:
    """All mutants of a package."""
    return [
        mutant
        for path in sorted(suites()[package].path.rglob("*.py"))
        for mutant in mutants_of(path, ".".join(path.relative_to(ROOT).with_suffix("").parts))
    ]


class Results:
    """Verdicts by the key of a mutant."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.path = KEPT / f"{package}.json"
        self.kept: dict[str, str] = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.new: Counter[Verdict] = Counter()

    def verdict(self, mutant: Mutant) -> Verdict | None:
        """Of the last run that had it. A mutant that is listed as equivalent is one as long as no test notices it."""
        kept = self.kept.get(mutant.key)
        if kept is None:
            return None
        verdict = Verdict(kept)
        return Verdict.EQUIVALENT if not verdict.is_killed and reason(mutant) else verdict

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        """A verdict of this run."""
        self.kept[mutant.key] = verdict.value
        self.new[verdict] += 1
        if not sum(self.new.values()) % 200:
            self._write()

    def save(self, mutants: Iterable[Mutant]) -> None:
        """Forget mutants that are no more."""
        there = {mutant.key for mutant in mutants}
        self.kept = {key: value for key, value in self.kept.items() if key in there}
        self._write()

    def survivors(self, mutants: Iterable[Mutant]) -> Iterator[str]:
        """A line for each mutant that no test notices."""
        for mutant in mutants:
            verdict = self.verdict(mutant)
            if verdict is not None and (verdict.is_survivor or verdict is Verdict.NOT_RUN):
                what = f"{mutant.owner}: {mutant.change}: {mutant.code}"
                yield f"{mutant.place}: {what} [{verdict.value} {mutant.number}]"

    def score(self, mutants: Sequence[Mutant]) -> Score:
        """The verdicts on these, counted."""
        counts = Counter(self.verdict(mutant) for mutant in mutants)
        return Score(
            mutants=len(mutants),
            killed=sum(counts[verdict] for verdict in Verdict if verdict.is_killed),
            survived=sum(counts[verdict] for verdict in Verdict if verdict.is_survivor),
            equivalent=counts[Verdict.EQUIVALENT],
            not_run=counts[None] + counts[Verdict.NOT_RUN],
        )

    def _write(self) -> None:
        KEPT.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(self.kept, indent=0))


def reason(mutant: Mutant) -> str:
    """Why nobody can notice it, if it is listed as equivalent."""
    names = (mutant.module, mutant.owner, mutant.change, mutant.code)
    return equivalents().get((*names, mutant.number)) or equivalents().get((*names, None), "")


@cache
def equivalents() -> Mapping[tuple[str, str, str, str, int | None], str]:
    """Reasons by module, owner, change, code and, where several are alike, number."""
    entries = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8")).get("mutant", [])
    return {
        (entry["module"], entry["owner"], entry["change"], entry["code"], entry.get("number")): entry["reason"]
        for entry in entries
    }
