"""How long `jsdoctor --version` and `--help` take, beside the same interpreter doing nothing."""

import sys
from pathlib import Path

from bench.commands import JSDOCTOR
from bench.figures import Row, Spread, Table
from bench.process import run
from bench.settings import Site

LIMIT = 6.0
SUBJECTS: dict[str, list[str | Path]] = {
    "jsdoctor --version": [JSDOCTOR, "--version"],
    "jsdoctor --help": [JSDOCTOR, "--help"],
    "python -m jsdoctor --version": [sys.executable, "-m", "jsdoctor", "--version"],
    "python -m jsdoctor --help": [sys.executable, "-m", "jsdoctor", "--help"],
}
_BARE: list[str | Path] = [sys.executable, "-c", "pass"]


def measure(site: Site) -> Table:
    """Each beside `python -c pass`, in pairs that are run one after the other, first and second by turns."""
    ratios: dict[str, list[float]] = {name: [] for name in SUBJECTS}
    bare: list[float] = []
    own: dict[str, list[float]] = {name: [] for name in SUBJECTS}
    for command in SUBJECTS.values():  # nothing is counted of the first run: it reads from disk and compiles
        run(command)
    for number in range(site.settings.start_rounds):
        for name, command in SUBJECTS.items():
            if number % 2:
                subject, nothing = run(command), run(_BARE)
            else:
                nothing, subject = run(_BARE), run(command)
            bare.append(nothing.seconds)
            own[name].append(subject.seconds)
            ratios[name].append(subject.seconds / nothing.seconds)
    rows = [Row("python -c pass", Spread.of(bare).text(" ms", 1, 1000))]
    for name in SUBJECTS:
        ratio = Spread.of(ratios[name])
        rows.append(Row(name, Spread.of(own[name]).text(" ms", 1, 1000)))
        rows.append(Row("  times python -c pass", ratio.text("x"), f"at most {LIMIT:g}x", ratio.middle <= LIMIT))
    return Table(f"Start: median of {site.settings.start_rounds} pairs (least to greatest)", tuple(rows))
