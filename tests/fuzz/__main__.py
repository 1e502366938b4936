"""`python -m tests.fuzz`: run for some seconds, keep and show what crashed, exit 1 if anything did."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.runner import Crash, attempt, fuzz, keep
from tests.fuzz.targets import TARGETS
from tests.servers.binaries import ROOT
from tests.support.ruleset import rules

FOUND = ROOT / ".cache" / "fuzz"
MEMORY_BYTES = 4 << 30


def main(arguments: Sequence[str]) -> int:
    """Fuzz or replay, and return the exit code."""
    options = _parser().parse_args(arguments)
    targets = {name: TARGETS[name] for name in options.target or TARGETS}
    if options.replay is not None:
        if len(targets) != 1:
            sys.stderr.write("say with --target whose input it is\n")
            return 2
        (target,) = targets.values()
        refused, error = attempt(target, options.replay.read_bytes())
        if error is not None:
            raise error
        _report("refused, as it should be" if refused else "no crash")
        return 0
    rules()  # a rulebook with mistakes would make every input crash
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    _report(f"seed {options.seed}, {options.seconds:g} s")
    outcome = fuzz(targets, options.seed, seconds=options.seconds)
    for name in targets:
        slowest = outcome.slowest_s.get(name, 0.0)
        done = f"{outcome.inputs[name]:>9,} inputs, {outcome.refused[name]:,} refused, slowest {slowest:.2f} s"
        _report(f"  {name:<14} {done if outcome.inputs[name] else 'has no corpus'}")
    for crash in outcome.crashes.values():
        _show(crash)
    _report(f"{len(outcome.crashes)} crashes")
    return 1 if outcome.crashes else 0


def _report(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _show(crash: Crash) -> None:
    path = keep(crash, FOUND).relative_to(ROOT)
    _report(f"\n{crash.target}: {crash.place}\n{crash.error}")
    _report(f"seed {crash.seed}, input {crash.number}, {len(crash.data):,} bytes: {crash.data[:200]!r}")
    _report(f"again: python -m tests.fuzz --target {crash.target} --replay {path}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Feed mutated input to every parser.")
    parser.add_argument("--seconds", type=float, default=60.0, help="default %(default)g")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--target", action="append", choices=TARGETS, help="this one; may be given again")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="an input that was kept")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
