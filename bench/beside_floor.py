"""`jsdoctor check` beside the floor of its replies: a bare client that gets the same ones and throws them away."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from bench.commands import Checked, check_json
from bench.figures import Row, Spread
from bench.process import Run, run


class Pair(NamedTuple):
    """A check, and the bare client that ran right before or after it."""

    check: Checked
    floor: Run


def pairs(url: str, size: tuple[int, int], samples: int, rounds: int, options: Sequence[str]) -> list[Pair]:
    """Both by turns, in the other order every second time."""
    return [_pair(url, size, samples, options, number) for number in range(rounds)]


def _pair(url: str, size: tuple[int, int], samples: int, options: Sequence[str], number: int) -> Pair:
    bare = [sys.executable, "-m", "bench.reply_floor", url, str(samples)]
    if number % 2:
        beside = run(bare)
        return Pair(check_json(url, *size, *options), beside)
    return Pair(check_json(url, *size, *options), run(bare))


def floor_rows(measured: Sequence[Pair], limit: float | None) -> list[Row]:
    """The floor, and how many times as long a check takes: by the clock, and processor time of the clients alone."""
    times = Spread.of([pair.check.run.seconds / pair.floor.seconds for pair in measured])
    cpu = Spread.of([pair.check.run.cpu_s / pair.floor.cpu_s for pair in measured])
    met = None if limit is None else times.middle <= limit
    replies, size = measured[-1].floor.stdout.split()
    return [
        Row(
            f"floor: the same {int(replies)} replies, {int(size) / 1e6:.1f} MB",
            Spread.of([pair.floor.seconds for pair in measured]).text(" s"),
        ),
        Row("  processor time of that client", Spread.of([pair.floor.cpu_s for pair in measured]).text(" s")),
        Row("  check takes of its time", times.text("x"), f"at most {limit:g}x" if limit else "", met, strict=False),
        Row("  check takes of its processor time", cpu.text("x")),
    ]
