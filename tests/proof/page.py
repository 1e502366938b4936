"""Writes docs/proof.md from results: what was run and what it gave; what was not run is named."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.proof.causes import CAUSES, Cause, cause_of, load_causes
from tests.proof.results import (
    KEPT,
    Collected,
    Result,
    State,
    last_results_path,
    read_collected,
    read_results,
    read_state,
    results_path,
)
from tests.proof.slices import Slice, modules_of
from tests.servers import BETWEEN, ROOT, VERSIONS

PAGE = ROOT / "docs" / "proof.md"
_SUMMED = frozenset({"inputs"})
"""Columns of figures whose sum over all runs is shown below the table, which has the last run of each test."""
_AGAIN = "Slices that were run again after changes, whole or in part. A slice that was not is not listed."
_SHOWN = 40
"""Modules that are named where tests were not run; the others are counted."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one test together. `last` is the last that ended; `runs` counts those that passed or failed.

    `earlier` has the figures of the runs before the last.
    """

    collected: Collected
    last: Result | None
    runs: int
    failures: int
    earlier: tuple[Mapping[str, Any], ...] = ()

    @property
    def outcome(self) -> str:
        """`passed`, `failed`, `flaky` (failed in some of its runs), `skipped`, `cut off` or `not run`."""
        if self.last is None:
            return "not run"
        if self.failures and self.failures < self.runs:
            return "flaky"
        return self.last.outcome


class SliceResults(msgspec.Struct, frozen=True, kw_only=True):
    """A slice and the verdict on each of its tests."""

    slice: Slice
    verdicts: tuple[Verdict, ...]

    def of(self, outcome: str) -> list[Verdict]:
        """The tests with an outcome."""
        return [verdict for verdict in self.verdicts if verdict.outcome == outcome]

    @property
    def counts(self) -> Counter[str]:
        """How many tests have each outcome."""
        return Counter(verdict.outcome for verdict in self.verdicts)

    @property
    def seconds(self) -> float:
        """What the last runs took together, in seconds."""
        return sum(verdict.last.seconds for verdict in self.verdicts if verdict.last)


def slice_results(
    slices: Sequence[Slice], digest: str, kept: Path = KEPT, *, former: bool = False
) -> list[SliceResults]:
    """What is known of each slice for a state of the code; with *former*, also by tests that have changed since."""
    path_of = last_results_path if former else results_path
    of_module: defaultdict[str, list[Collected]] = defaultdict(list)
    for test in read_collected(digest, kept):
        of_module[test.test.partition("::")[0].removeprefix("tests/")].append(test)
    results_of_slices = []
    for proof_slice in slices:
        verdicts: list[Verdict] = []
        for module in modules_of(slices)[proof_slice.name]:
            results: defaultdict[str, list[Result]] = defaultdict(list)
            for result in read_results(path_of(digest, proof_slice.name, module, kept)):
                results[result.test].append(result)
            verdicts += [
                verdict(test, results[test.test])
                for test in of_module[module]
                if proof_slice.includes(test.version, nightly=test.nightly)
            ]
        results_of_slices.append(SliceResults(slice=proof_slice, verdicts=tuple(verdicts)))
    return results_of_slices


def verdict(test: Collected, results: Sequence[Result]) -> Verdict:
    """What the runs of a test say together. A run that started and did not end was cut off with its sitting."""
    ended = [result for result in results if result.outcome != "started"]
    started = [result for result in results if result.outcome == "started"]
    cut_off = [msgspec.structs.replace(result, outcome="cut off") for result in started[len(ended) :]]
    every = [*cut_off, *ended]
    counted = [result for result in every if result.outcome in {"passed", "failed"}]
    failures = sum(result.outcome == "failed" for result in counted)
    earlier = tuple(result.figures for result in every[:-1] if result.figures)
    last = every[-1] if every else None
    return Verdict(collected=test, last=last, runs=len(counted), failures=failures, earlier=earlier)


def page(
    slices: Sequence[Slice],
    digest: str,
    later: Sequence[str] = (),
    kept: Path = KEPT,
    causes: Path = CAUSES,
    *,
    former: bool = False,
) -> str:
    """The whole page: of one state, *former* or not, and of what was run again for each *later* one.

    Raises OSError where there are no results.
    """
    known = load_causes(causes)
    results = slice_results(slices, digest, kept, former=former)
    parts = [*_head(read_state(digest, kept), results), *_overview(results)]
    if later:
        parts += ("\n## Run again for later states\n", _AGAIN)
    for state in later:
        parts += _later(read_state(state, kept), slice_results(slices, state, kept, former=True), known)
    return "\n".join([*parts, *_details(results, known)]) + "\n"


def _head(state: State, results: Sequence[SliceResults]) -> Iterator[str]:
    yield _TEXT.format(table=_about(state, results))


def _later(state: State, results: Sequence[SliceResults], causes: Sequence[Cause]) -> Iterator[str]:
    again = [result for result in results if result.counts["not run"] < len(result.verdicts)]
    yield f"\n### State `{state.digest}`\n"
    yield _about(state, again)
    yield ""
    yield from _table_of_slices(again)
    for result in again:
        yield from _failures(result, causes)


def _about(state: State, results: Sequence[SliceResults]) -> str:
    """A table of what was tested, when and on what."""
    ran = [verdict.last.at for result in results for verdict in result.verdicts if verdict.last]
    when = f"{min(ran):%Y-%m-%d %H:%M} to {max(ran):%Y-%m-%d %H:%M} UTC" if ran else "not run"
    changed = "" if state.clean else ", with changes that are in no commit"
    return _table(
        ("", ""),
        [
            ("Commit", f"`{state.commit[:12]}` of {state.committed}{changed}"),
            ("Digest of jsdoctor/, rules/ and fixtures/", f"`{state.digest}`"),
            ("Run", when),
            ("nats-server", _versions(results)),
            ("Python", state.python),
            ("Machine", f"{state.system}, {state.processors} processors"),
            *([("Settings", ", ".join(f"`{setting}`" for setting in state.settings))] if state.settings else []),
        ],
    )


def _versions(results: Iterable[SliceResults]) -> str:
    """Releases that all slices run on, then those that some slices were run on."""
    of_slices = [
        result.slice.name
        for result in results
        if any(v.last and v.collected.version in BETWEEN for v in result.verdicts)
    ]
    text = ", ".join(version for version in VERSIONS if version not in BETWEEN)
    between = ", ".join(version for version in VERSIONS if version in BETWEEN)
    return f"{text}; {' and '.join(of_slices)} also {between}" if of_slices and between else text


def _overview(results: Sequence[SliceResults]) -> Iterator[str]:
    yield "## Slices\n"
    yield from _table_of_slices(results)


def _table_of_slices(results: Sequence[SliceResults]) -> Iterator[str]:
    rows = []
    for result in results:
        counts = result.counts
        ran = sum(counts[outcome] for outcome in ("passed", "failed", "flaky"))
        cells = [result.slice.name, *(f"{count:,}" for count in (len(result.verdicts), ran, *_columns(counts)))]
        rows.append((*cells, f"{result.seconds / 60:.0f}" if ran else ""))
    yield _table(("slice", "tests", "run", *_OUTCOMES, "minutes"), rows)


def _details(results: Sequence[SliceResults], causes: Sequence[Cause]) -> Iterator[str]:
    for result in results:
        yield f"\n## {result.slice.name.capitalize()}\n"
        yield result.slice.shows
        if result.counts["not run"] == len(result.verdicts):
            yield "\nThis slice was not run."
            continue
        yield ""
        yield _table(("nats-server", "tests", *_OUTCOMES), list(_by_version(result)))
        yield from _figures(result)
        yield from _failures(result, causes)
        yield from _cut_off(result)
        yield from _skipped(result)
        yield from _not_run(result)


def _by_version(results: SliceResults) -> Iterator[Sequence[str]]:
    of_version: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict_ in results.verdicts:
        of_version[verdict_.collected.version].append(verdict_)
    for version in (*VERSIONS, ""):
        if verdicts := of_version[version]:
            counts = Counter(verdict_.outcome for verdict_ in verdicts)
            yield (version or "no version in its name", *(f"{n:,}" for n in (len(verdicts), *_columns(counts))))


def _figures(results: SliceResults) -> Iterator[str]:
    tables: defaultdict[tuple[str, tuple[str, ...]], list[Mapping[str, object]]] = defaultdict(list)
    sums: Counter[tuple[str, str]] = Counter()
    for verdict_ in results.verdicts:
        if verdict_.last and verdict_.last.figures:
            test = verdict_.collected.test.partition("[")[0]
            for row in _rows(verdict_.last.figures):
                tables[test, tuple(row)].append(row)
            for row in (row for figures in (verdict_.last.figures, *verdict_.earlier) for row in _rows(figures)):
                sums.update({(test, head): row[head] for head in _SUMMED.intersection(row)})
    for (test, heads), rows in tables.items():
        yield f"\nMeasured by `{test}`:\n"
        yield _table(heads, [tuple(_cell(value) for value in row.values()) for row in sorted(rows, key=_first_value)])
        for head in _SUMMED.intersection(heads):
            yield f"\n{sums[test, head]:,} {head} in all runs of this state."


def _rows(figures: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of one run: one, unless it has several under that name."""
    return list(figures.get("rows", [figures]))


def _first_value(row: Mapping[str, object]) -> tuple[float, str]:
    """Numbers by size, then texts: tests come in any order."""
    value = next(iter(row.values()))
    return (value, "") if isinstance(value, int | float) else (0.0, str(value))


def _failures(results: SliceResults, causes: Sequence[Cause]) -> Iterator[str]:
    if failed := results.of("failed"):
        yield "\nFailed:\n"
        yield from (f"- `{v.collected.test}`{_rate(v)}: {_quoted(v)}{_caused(v, causes)}" for v in failed)
    if flaky := results.of("flaky"):
        yield "\nFailed in some of their runs:\n"
        yield from (f"- `{v.collected.test}`{_rate(v)}{_caused(v, causes)}" for v in flaky)


def _caused(verdict_: Verdict, causes: Sequence[Cause]) -> str:
    cause = cause_of(verdict_.collected.test, causes)
    return f". {cause}" if cause else ""


def _cut_off(results: SliceResults) -> Iterator[str]:
    if left := results.of("cut off"):
        yield "\nCut off:\n"
        yield from (f"- `{v.collected.test}`" for v in left)


def _skipped(results: SliceResults) -> Iterator[str]:
    reasons = Counter(v.last.reason for v in results.of("skipped") if v.last)
    if reasons:
        yield "\nSkipped:\n"
        yield from (f"- {count:,}: {_plain(reason)}" for reason, count in reasons.most_common())


def _not_run(results: SliceResults) -> Iterator[str]:
    left = Counter(v.collected.test.partition("::")[0].removeprefix("tests/") for v in results.of("not run"))
    if left:
        named = [f"`{module}` ({count:,})" for module, count in left.most_common(_SHOWN)]
        more = f" and {len(left) - _SHOWN} more modules" if len(left) > _SHOWN else ""
        yield f"\nNot run: {', '.join(named)}{more}."


def _rate(verdict_: Verdict) -> str:
    return f" ({verdict_.failures} of {verdict_.runs} runs)" if verdict_.runs > 1 else ""


def _quoted(verdict_: Verdict) -> str:
    return _plain(verdict_.last.reason if verdict_.last else "")


def _plain(text: str) -> str:
    """Text of a test as code, so that nothing in it is markup."""
    return f"`{text.replace('`', chr(39))}`" if text else "no reason given"


def _columns(counts: Mapping[str, int]) -> list[int]:
    return [counts.get(outcome, 0) for outcome in _OUTCOMES]


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


_OUTCOMES = ("passed", "failed", "flaky", "skipped", "cut off", "not run")
_TEXT = """\
<!-- Written by `make proof-page` from the results of `make proof`. Do not edit. -->

# Proof

This page lists the tests of jsdoctor that were run for one state of the code, and their results. No figure on it was
entered by hand; causes of failures were, in tests/proof/causes.toml. `make proof` runs the tests in slices and keeps
each result; a result counts only for the state of jsdoctor/, rules/, fixtures/ and the modules of the test for which
it was measured. *Flaky* tests failed in some of their runs. *Cut off* tests started and had not ended when the run was
stopped. *Not run* means that there is no result for this state; it says nothing about whether the tests pass.

{table}
"""
