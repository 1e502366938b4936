"""How the time of `jsdoctor check` grows with the cluster."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bench.commands import NO_WAITING, Checked, check_json, check_text
from bench.deployment import Deployment
from bench.figures import Row, Spread, Table, exponent
from bench.process import CannotMeasureError
from bench.settings import Site

EXPONENT_AIM = 1.1
STEPS = (0.1, 0.2, 0.5, 1.0)
"""Sizes, as parts of the largest."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What was measured at one size: seconds, seconds of processor time, and how much there was to report."""

    streams: int
    seconds: Spread
    cpu_s: Spread
    findings: int
    text_lines: int

    def text(self) -> str:
        """On one line."""
        report = f"{self.findings:,} findings in {self.text_lines} lines of text"
        return f"{self.seconds.text(' s')}, processor {self.cpu_s.middle:.2f} s; {report}"


def measure(site: Site) -> Table:
    """The same command at four sizes of one growing cluster, and how long its text report becomes."""
    deployment, rounds = site.deployment(), 2 * site.settings.rounds  # quick ones, at the mercy of a busy moment
    if deployment.streams:
        raise CannotMeasureError("growth is measured from an empty cluster: measure it before the large one")
    empty = _step(deployment, rounds)
    steps: list[_Step] = []
    for part in STEPS:
        deployment.grow_to(round(site.settings.streams * part))
        steps.append(_step(deployment, rounds))
    rows = [
        Row("no streams", empty.text()),
        *(Row(f"{step.streams:,} x {deployment.consumers_per_stream}", step.text()) for step in steps),
        _exponent_row("time", [(step.streams, step.seconds.middle) for step in steps]),
        _exponent_row("time beyond no streams", [(s.streams, s.seconds.middle - empty.seconds.middle) for s in steps]),
        _exponent_row("processor time, likewise", [(s.streams, s.cpu_s.middle - empty.cpu_s.middle) for s in steps]),
    ]
    title = f"Growth: streams x consumers, two samples, no waiting; median of {rounds} (least to greatest)"
    return Table(title, tuple(rows))


def _step(deployment: Deployment, rounds: int) -> _Step:
    url = deployment.cluster.url("sys")

    def check() -> Checked:
        return check_json(url, deployment.streams, deployment.consumers, *NO_WAITING)

    check()  # nothing is counted of the first run
    runs = [check() for _ in range(rounds)]
    return _Step(
        deployment.streams,
        Spread.of([checked.run.seconds for checked in runs]),
        Spread.of([checked.run.cpu_s for checked in runs]),
        runs[-1].findings,
        len(check_text(url).stdout.splitlines()),
    )


def _exponent_row(what: str, points: Iterable[tuple[float, float]]) -> Row:
    value, name = exponent(points), f"exponent, {what}"
    if math.isnan(value):
        return Row(name, "too little to tell")
    return Row(name, f"{value:.2f}", f"at most {EXPONENT_AIM:g}", value <= EXPONENT_AIM, strict=False)
