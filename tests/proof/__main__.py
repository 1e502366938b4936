"""`python -m tests.proof`: run what is left of the slices, or write the page. The manual is in `__init__.py`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from tests.proof.page import PAGE, page, slice_results
from tests.proof.published import publish, restore
from tests.proof.results import KEPT, digest_of
from tests.proof.run import prepare, run_slice, run_suite
from tests.proof.slices import load_slices
from tests.servers import VERSIONS

SUITE_MINUTES = 30.0


def main(arguments: Sequence[str]) -> int:
    """0 when nothing is left and nothing failed, 1 when something failed, 3 when something is left."""
    slices = load_slices()
    options = _parser([known.name for known in slices]).parse_args(arguments)
    if options.page:
        state = options.state or digest_of()
        states = [state, *options.later]
        for digest in states:
            restore(digest)
            if not (KEPT / digest / "state.json").exists():
                run = "" if options.state else "; run: make proof"
                sys.stderr.write(f"there are no results for the state {digest} of the code{run}\n")
                return 2
        text = page(slices, state, options.later, former=bool(options.state))
        publish(states)
        PAGE.write_text(text, "utf-8")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: what was under way runs again
    digest = prepare()
    if options.suite or not (options.slice or options.version or options.again):
        run_suite(slices, digest, minutes=options.minutes or SUITE_MINUTES)
    chosen = [candidate for candidate in slices if options.slice in {None, candidate.name} and not options.suite]
    complete = True
    for proof_slice in chosen:
        minutes = options.minutes or proof_slice.minutes
        complete &= run_slice(
            slices,
            proof_slice,
            digest,
            minutes=minutes,
            version=options.version,
            again=options.again,
            lanes=options.lanes,
        )
    failed = 0
    for results in slice_results(slices, digest):
        if options.suite or results.slice in chosen:
            counts = results.counts
            failed += counts["failed"]
            sys.stdout.write(f"{results.slice.name}: {', '.join(f'{n:,} {what}' for what, n in counts.items())}\n")
    return 1 if failed else 0 if complete else 3


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description="Run the tests in slices that resume.")
    parser.add_argument("--slice", choices=names, help="this one alone")
    parser.add_argument("--suite", action="store_true", help="only what `make test` has, in one run on all processors")
    parser.add_argument("--version", default="", choices=["", *VERSIONS], help="tests of this nats-server alone")
    parser.add_argument("--minutes", type=float, help="how long to work on each slice")
    parser.add_argument("--again", type=int, default=0, help="run the tests that failed so many times more")
    parser.add_argument("--lanes", type=int, default=1, help="how many pytest processes run side by side")
    parser.add_argument("--page", action="store_true", help="write docs/proof.md and docs/proof.tar.xz")
    parser.add_argument("--state", help="with --page: digest of the state, the present one if left out")
    later = "with --page: digests of later states that were run in part"
    parser.add_argument("--later", nargs="*", default=[], metavar="STATE", help=later)
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
