"""How much processor time short commands take."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.commands import JSDOCTOR
from bench.figures import Row, Spread, Table
from bench.process import run
from bench.settings import Site

LIMIT_S = 0.4
COMPLETION_LIMIT_S = 0.3
LOG = """\
[12] 2026/11/21 10:00:00.000001 [INF] Starting nats-server
[12] 2026/11/21 10:00:00.000101 [INF]   Version:  2.12.8
[12] 2026/11/21 10:00:03.000001 [INF] Server is ready
"""


class Subject(NamedTuple):
    """A command, what its environment has in addition, and what it may take."""

    command: Sequence[str | Path]
    environment: Mapping[str, str] = {}
    limit_s: float = LIMIT_S


def _completion(typed: str) -> Subject:
    """What bash runs when Tab is pressed behind `typed`."""
    number = str(len(typed.split(" ")) - 1)
    environment = {"_JSDOCTOR_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": number}
    return Subject([JSDOCTOR], environment, COMPLETION_LIMIT_S)


SUBJECTS: dict[str, Subject] = {
    "jsdoctor --version": Subject([JSDOCTOR, "--version"]),
    "jsdoctor --help": Subject([JSDOCTOR, "--help"]),
    "jsdoctor rules list": Subject([JSDOCTOR, "rules", "list"]),
    "jsdoctor explain JSD101": Subject([JSDOCTOR, "explain", "JSD101"]),
    "jsdoctor diagnose --offline --code 10071": Subject([JSDOCTOR, "diagnose", "--offline", "--code", "10071"]),
    "completion of a command": _completion("jsdoctor ch"),
    "completion of an option": _completion("jsdoctor check --exit-"),
    "completion of a rule": _completion("jsdoctor check --select JSD40"),
}


def measure(site: Site) -> Table:
    """Each command by itself. Nothing is counted of its first run, which reads from disk and compiles."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "nats.log")
        log.write_text(LOG)
        subjects = {**SUBJECTS, "jsdoctor check --logs, three lines": Subject([JSDOCTOR, "check", "--logs", log])}
        rows = [_row(name, subject, site.settings.start_rounds) for name, subject in subjects.items()]
    title = f"Start, processor time: median of {site.settings.start_rounds} runs (least to greatest)"
    return Table(title, tuple(rows))


def _row(name: str, subject: Subject, rounds: int) -> Row:
    runs = [run(subject.command, environment=subject.environment, accept=(0, 1, 3)) for _ in range(rounds + 1)]
    taken = Spread.of([done.cpu_s for done in runs[1:]])
    return Row(name, taken.text(" ms", 1, 1000), f"at most {subject.limit_s:g} s", taken.middle <= subject.limit_s)
