"""Excerpts of logs: each cause in each shape, half of them kept aside, and what a reading of one names."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.rule import LineOrigin
from tests.logs.shapes import SHAPES, dressed
from tests.support.log_cases import evidence_of_files, healthy_logs
from tests.support.ruleset import rules, run_all

_SERVER_LINE = re.compile(r"(?:\[\d+\] )?\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[(?:INF|WRN|ERR|FTL)\] ?\S")
_BENIGN_LINES = 25


class Excerpt(NamedTuple):
    """A text in a shape. `code` is the rule that must be named, empty for a benign one."""

    code: str
    cause: str
    shape: str
    text: str

    @property
    def kept_aside(self) -> bool:
        """Whether it belongs to the half that nobody looks at while the reader is worked on."""
        return hashlib.sha256(f"{self.cause}\0{self.shape}".encode()).digest()[0] % 2 == 1


def faults() -> Iterator[Excerpt]:
    """Every cause that one line of a server tells of, in every shape."""
    endings = {name for rule in rules() for declared in rule.signatures for name in declared.resolved_by}
    for rule in rules():
        for signature in rule.signatures:
            examples = [example for example in signature.examples if _SERVER_LINE.match(example)]
            if signature.source is LineOrigin.SERVER and examples and signature.name not in endings:
                for shape in SHAPES:
                    yield Excerpt(rule.code, signature.name, shape, dressed(shape, examples[0]))


def benign() -> Iterator[Excerpt]:
    """Logs of healthy clusters and the ends of them, in every shape."""
    for directory in healthy_logs():
        for log in sorted(directory.glob("*.log")):
            lines = [line for line in log.read_text(errors="replace").splitlines() if _SERVER_LINE.match(line)]
            for number, shape in enumerate(SHAPES):
                piece = "\n".join(lines[-_BENIGN_LINES:] if number % 2 else lines)
                yield Excerpt("", f"{directory.parent.name}/{directory.name}/{log.stem}", shape, dressed(shape, piece))


def named(excerpt: Excerpt, directory: Path) -> list[str]:
    """Codes of the rules that a reading names, gravest first: failures, then what was shown and not evaluated."""
    path = directory / "paste.txt"
    path.write_text(excerpt.text + "\n", errors="surrogateescape")
    results = run_all(evidence_of_files(path)).results
    failed = [result for result in results if result.finding.outcome is Outcome.FAIL]
    shown = [
        result
        for result in results
        if result.finding.outcome is Outcome.NOT_EVALUATED and result.finding.message[:6] == "logged"
    ]
    ranked = [*sorted(failed, key=lambda result: -result.severity.rank), *shown]
    return list(dict.fromkeys(result.rule.code for result in ranked))


def loud(excerpt: Excerpt, directory: Path) -> list[str]:
    """Codes of the rules that a benign excerpt sets off. No rule knows half a line: `wrapped` texts may show some."""
    path = directory / "paste.txt"
    path.write_text(excerpt.text + "\n", errors="surrogateescape")
    return [
        result.rule.code
        for result in run_all(evidence_of_files(path)).results
        if result.finding.outcome is Outcome.FAIL
        and result.severity.rank >= Severity.WARNING.rank
        and not (result.rule.code == "JSD904" and excerpt.shape.startswith("wrapped"))
    ]
