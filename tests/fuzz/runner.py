"""Feeds targets with inputs that follow from a seed, one target after the other, and keeps what makes one crash."""

from __future__ import annotations

import gc
import itertools
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from types import FrameType

import jsdoctor
from tests.fuzz.targets import Target

MAX_S = 30.0
"""An input that is worked on for longer is one that hangs; the slowest honest one takes a hundredth of that."""

_FRAMES_SHOWN = 12
_PACKAGE = Path(jsdoctor.__file__).parent


class HangError(Exception):
    """An input was worked on for too long."""


@dataclass(frozen=True)
class Crash:
    """An input that a target did not bear. `place` is the same for inputs that find the same bug."""

    target: str
    seed: int
    number: int
    data: bytes
    error: str
    place: str

    @property
    def name(self) -> str:
        """Of the file that keeps the input."""
        return f"{self.target}-{sha256(self.data).hexdigest()[:16]}"


@dataclass
class Outcome:
    """Inputs of each target, how many it refused, the longest that one took, and the first crash at each place."""

    inputs: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    crashes: dict[tuple[str, str], Crash] = field(default_factory=dict)
    slowest_s: dict[str, float] = field(default_factory=dict)
    """Processor time: on a busy machine the time by the clock belongs to others."""


def fuzz(targets: Mapping[str, Target], seed: int, seconds: float | None = None, rounds: int = 0) -> Outcome:
    """Every target that has a corpus for the same part of that time, or with that many inputs each."""
    outcome = Outcome()
    corpora = {name: corpus for name, target in targets.items() if (corpus := target.corpus())}
    if seconds is None:
        for name, _ in itertools.product(corpora, range(rounds)):
            _one(targets[name], name, corpora[name], seed, outcome)
        return outcome
    spent = dict.fromkeys(corpora, 0.0)
    while spent and sum(spent.values()) < seconds:
        name = min(spent, key=spent.__getitem__)
        started = time.monotonic()
        _one(targets[name], name, corpora[name], seed, outcome)
        spent[name] += time.monotonic() - started
    return outcome


def _one(target: Target, name: str, corpus: Sequence[bytes], seed: int, outcome: Outcome) -> None:
    number = outcome.inputs[name]
    # The text alone decides what this Random gives, in every process and on every machine.
    random = Random(f"{seed}/{name}/{number}")  # noqa: S311 - it is to be foreseen
    data = target.mutate(random, random.choice(corpus), corpus)
    outcome.inputs[name] += 1
    started = time.process_time()
    refused, error = attempt(target, data)
    outcome.slowest_s[name] = max(outcome.slowest_s.get(name, 0.0), time.process_time() - started)
    outcome.refused[name] += refused
    if error is not None:
        place = _place(error)
        shown = "".join(traceback.format_exception(error, limit=-_FRAMES_SHOWN))
        outcome.crashes.setdefault((name, place), Crash(name, seed, number, data, shown, place))


def attempt(target: Target, data: bytes) -> tuple[bool, BaseException | None]:
    """Whether the input was refused as it should be, and what else was raised."""
    try:
        with _deadline(MAX_S):
            target.run(data)
    except target.refusals:
        return True, None
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return False, error
    return False, None


def keep(crash: Crash, directory: Path) -> Path:
    """Write the input where it can be replayed from."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / crash.name
    path.write_bytes(crash.data)
    return path


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise HangError(f"still at work after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    gc.disable()  # an alarm that rings within a callback of the collector would be lost there
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)


def _place(error: BaseException) -> str:
    """The kind of error and the innermost line of ours, or, of a rule that crashed, what it says."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else str(error)[:60]
    return f"{type(error).__name__} at {where}"
