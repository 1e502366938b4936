"""Mutated input for every parser: what others wrote must end in a report, a gap or one clear message, never in a crash.

    make fuzz SECONDS=60                            every target, for a minute, with a seed of the clock
    make fuzz SECONDS=600 SEED=1                    the same inputs in the same order as every run with that seed
    python -m tests.fuzz --target bundle            one target
    python -m tests.fuzz --target bundle --replay .cache/fuzz/bundle-0123456789abcdef

Each input is a recorded or shipped one (fixtures, rule pages) with a few changes, derived from the seed, the target and
a number alone. An input that makes a target raise what it must not raise, or work for longer than `MAX_S`, is kept
in `.cache/fuzz` and named with its seed; the run goes on and ends with exit code 1. `targets.py` says what each target
may raise and what else must hold. pytest runs a few inputs for each target, and proves that planted bugs are found.
"""
