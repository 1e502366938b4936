"""How much processor time short commands take, beside the same interpreter doing nothing."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.commands import JSDOCTOR
from bench.figures import Row, Spread, Table
from bench.process import run
from bench.settings import Site

LIMIT = 2.0
CHECK_LIMIT_S = 0.25
LOG = """\
[12] 2026/11/21 10:00:00.000001 [INF] Starting nats-server
[12] 2026/11/21 10:00:00.000101 [INF]   Version:  2.12.8
[12] 2026/11/21 10:00:03.000001 [INF] Server is ready
"""


class Subject(NamedTuple):
    """A command, and what its environment has in addition."""

    command: Sequence[str | Path]
    environment: Mapping[str, str] = {}


def _completion(typed: str) -> Subject:
    """What bash runs when Tab is pressed behind `typed`."""
    number = str(len(typed.split(" ")) - 1)
    return Subject([JSDOCTOR], {"_JSDOCTOR_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": number})


SUBJECTS: dict[str, Subject] = {
    "jsdoctor --version": Subject([JSDOCTOR, "--version"]),
    "jsdoctor --help": Subject([JSDOCTOR, "--help"]),
    "python -m jsdoctor --version": Subject([sys.executable, "-m", "jsdoctor", "--version"]),
    "python -m jsdoctor --help": Subject([sys.executable, "-m", "jsdoctor", "--help"]),
    "jsdoctor rules list": Subject([JSDOCTOR, "rules", "list"]),
    "jsdoctor explain JSD101": Subject([JSDOCTOR, "explain", "JSD101"]),
    "completion of a command": _completion("jsdoctor ch"),
    "completion of an option": _completion("jsdoctor check --exit-"),
    "completion of a rule": _completion("jsdoctor check --select JSD40"),
}
_BARE: list[str | Path] = [sys.executable, "-c", "pass"]


def measure(site: Site) -> Table:
    """Each beside `python -c pass`, in pairs that are run one after the other, first and second by turns."""
    ratios: dict[str, list[float]] = {name: [] for name in SUBJECTS}
    bare: list[float] = []
    own: dict[str, list[float]] = {name: [] for name in SUBJECTS}
    for subject in SUBJECTS.values():  # nothing is counted of the first run: it reads from disk and compiles
        run(subject.command, environment=subject.environment)
    for number in range(site.settings.start_rounds):
        for name, subject in SUBJECTS.items():
            if number % 2:
                ours, nothing = run(subject.command, environment=subject.environment), run(_BARE)
            else:
                nothing, ours = run(_BARE), run(subject.command, environment=subject.environment)
            bare.append(nothing.cpu_s)
            own[name].append(ours.cpu_s)
            ratios[name].append(ours.cpu_s / nothing.cpu_s)
    rows = [Row("python -c pass", Spread.of(bare).text(" ms", 1, 1000))]
    for name in SUBJECTS:
        ratio = Spread.of(ratios[name])
        rows.append(Row(name, Spread.of(own[name]).text(" ms", 1, 1000)))
        rows.append(Row("  times python -c pass", ratio.text("x"), f"at most {LIMIT:g}x", ratio.middle <= LIMIT))
    check = _check(site.settings.start_rounds)
    limit = f"at most {CHECK_LIMIT_S:g} s"
    rows.append(Row("jsdoctor check --logs, three lines", check.text(" s"), limit, check.middle <= CHECK_LIMIT_S))
    title = f"Start, processor time: median of {site.settings.start_rounds} pairs (least to greatest)"
    return Table(title, tuple(rows))


def _check(rounds: int) -> Spread:
    """A check of a small log: loading the program is nearly all of it."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "nats.log")
        log.write_text(LOG)
        times = [run([JSDOCTOR, "check", "--logs", log], accept=(0, 1, 3)).cpu_s for _ in range(rounds + 1)]
    return Spread.of(times[1:])
