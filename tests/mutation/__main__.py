"""`make mutants` and `make mutants-page`; for one rule: `--package checks --module near_limit -k JSD602 --again`."""

from __future__ import annotations

import argparse
import random
import sys

import pytest

from tests.mutation.judge import Judge
from tests.mutation.page import write_page
from tests.mutation.results import Results, package_mutants, suites

PLAIN = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", "not nightly and not real"]
QUICK = ["--assert=plain", "--tb=native"]
"""Nobody reads why a test failed on a mutant, and to work it out takes longer than the test."""


def main() -> None:
    """Judge the mutants of a package and keep the results, or write the page of all results."""
    options = _options()
    if options.page:
        write_page()
        return
    suite, results = suites()[options.package], Results(options.package)
    everything = package_mutants(options.package)
    mutants = [mutant for mutant in everything if any(name in mutant.module for name in options.module)]
    if options.again:
        mutants = [m for m in mutants if (verdict := results.verdict(m)) is None or not verdict.is_killed]
    if options.sample is not None:
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))  # noqa: S311
    judge = Judge(mutants, suite.path, results.add, jobs=options.jobs, constant_evidence=suite.constant_evidence)
    chosen = ["-k", options.keyword] if options.keyword else []
    code = pytest.main([*PLAIN, *QUICK, *chosen, *suite.tests], plugins=[judge])
    if code:
        sys.exit(int(code))
    results.save(everything)
    sys.stdout.writelines(f"{line}\n" for line in results.survivors(mutants))
    score = results.score(mutants)
    sys.stdout.write(f"{options.package}: {score}: {score.ratio:.1%}\n")
    if options.sample is None and options.module == [""] and suite.goal is not None and score.ratio < suite.goal:
        sys.exit(f"{options.package}: {score.ratio:.1%} is below the goal of {suite.goal:.0%}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--package", choices=sorted(suites()))
    what.add_argument("--page", action="store_true", help="write docs/mutation.md")
    parser.add_argument("--module", nargs="+", default=[""], help="only modules with one of these in their names")
    parser.add_argument("-k", dest="keyword", default="", help="only tests that pytest -k selects")
    parser.add_argument("--sample", type=int, help="only so many mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="only those that were not killed the last time")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
