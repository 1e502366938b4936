"""Writes docs/mutation.md: how many changes of the code the tests notice, by package."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tests.mutation.operators import Mutant
from tests.mutation.results import ROOT, Results, package_mutants, suites

PAGE = ROOT / "docs" / "mutation.md"
_MAX_MODULES = 25
_HEAD = """\
<!-- Written by `make mutants-page` from the results of `make mutants`. Do not edit. -->

# Mutation testing

A mutant is jsdoctor with one small change: `<` became `<=`, a statement is gone, a text has other letters, an argument
is missing. A test that fails has *killed* it. A mutant *survived* if no test noticed the change, or if no test reaches
the line. An *equivalent* mutant does the same as the original; tests/mutation/equivalent.toml lists each with the
reason. *Not run* are changes that cannot be made in a running program (bodies of classes) and those without a result.
The score is the share of killed mutants among the killed and the survived ones.

"""

_SAMPLES = (
    "Of packages without a goal a random sample is run. What `parse` reads, and what `remedy` sends, is tested to a",
    "large part by commands that run as programs of their own, on real servers and files: no mutant is in force in",
    "them, so that these scores say how much the other tests notice. Most survivors of `parse` are names of fields of",
    "manifests and columns of tables, those of `remedy` backups and restores.",
)


def write_page() -> None:
    """From the kept results, and from nothing else."""
    PAGE.write_text(_HEAD + "\n".join(_lines()) + "\n", encoding="utf-8")


def _lines() -> Iterator[str]:
    yield f"Written on {datetime.now(UTC):%Y-%m-%d} at commit `{_commit()}`."
    yield ""
    yield "| package | mutants | killed | survived | equivalent | not run | score | goal |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    judged = {name: (Results(name), package_mutants(name)) for name in suites()}
    for name, (results, mutants) in judged.items():
        score, goal = results.score(mutants), suites()[name].goal
        ratio = f"{score.ratio:.1%}" if score.killed or score.survived else "not run"
        counts = (score.mutants, score.killed, score.survived, score.equivalent, score.not_run)
        yield (
            f"| `{suites()[name].path.relative_to(ROOT)}` | {' | '.join(f'{count:,}' for count in counts)}"
            f" | {ratio} | {f'{goal:.0%}' if goal else ''} |"
        )
    yield from ("", *_SAMPLES)
    for name, (results, mutants) in judged.items():
        yield from _modules(name, results, mutants)


def _modules(package: str, results: Results, mutants: Sequence[Mutant]) -> Iterator[str]:
    survived = Counter(
        mutant.module for mutant in mutants if (verdict := results.verdict(mutant)) is not None and verdict.is_survivor
    )
    if not survived:
        return
    of = Counter(mutant.module for mutant in mutants)
    yield from ("", f"## Modules of {package} with the most survivors", "", "| module | mutants | survived |")
    yield "| --- | ---: | ---: |"
    for module, count in survived.most_common(_MAX_MODULES):
        yield f"| `{module.replace('.', '/')}.py` | {of[module]:,} | {count:,} |"
    if len(survived) > _MAX_MODULES:
        rest = sum(survived.values()) - sum(count for _, count in survived.most_common(_MAX_MODULES))
        yield f"| {len(survived) - _MAX_MODULES} more modules | | {rest:,} |"


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
