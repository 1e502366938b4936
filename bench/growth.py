"""How the time of `jsdoctor check` grows with the cluster."""

import math

from bench.commands import NO_WAITING, Checked, check_json, check_text
from bench.deployment import Deployment
from bench.figures import Row, Spread, Table, exponent
from bench.process import CannotMeasureError
from bench.settings import Site

EXPONENT_AIM = 1.2
STEPS = (0.1, 0.2, 0.5, 1.0)
"""Sizes, as parts of the largest."""


def measure(site: Site) -> Table:
    """The same command at four sizes of one growing cluster, and how long its text report becomes."""
    deployment, rounds = site.deployment(), site.settings.rounds
    steps = [round(site.settings.streams * part) for part in STEPS]
    if deployment.streams:
        raise CannotMeasureError("growth is measured from an empty cluster: measure it before the large one")
    _check(deployment)
    empty = Spread.of([_check(deployment).run.seconds for _ in range(rounds)])
    rows = [Row("no streams", empty.text(" s"))]
    times: list[tuple[int, float]] = []
    lines: list[int] = []
    for streams in steps:
        deployment.grow_to(streams)
        _check(deployment)
        runs = [_check(deployment) for _ in range(rounds)]
        spread = Spread.of([checked.run.seconds for checked in runs])
        times.append((streams, spread.middle))
        lines.append(len(check_text(deployment.cluster.url("sys")).stdout.splitlines()))
        text = f"{spread.text(' s')}, {runs[-1].findings} findings, text report of {lines[-1]} lines"
        rows.append(Row(f"{streams:,} x {deployment.consumers_per_stream}", text))
    whole = exponent(times)
    above = exponent((streams, seconds - empty.middle) for streams, seconds in times)
    rows += [
        _exponent_row("the time grows with the streams to the power of", whole),
        _exponent_row("the time beyond that of no streams, likewise", above),
    ]
    return Table(
        f"Growth: streams x consumers, two samples without waiting; median of {rounds} (least to greatest)", tuple(rows)
    )


def _check(deployment: Deployment) -> Checked:
    return check_json(deployment.cluster.url("sys"), deployment.streams, deployment.consumers, *NO_WAITING)


def _exponent_row(what: str, value: float) -> Row:
    if math.isnan(value):
        return Row(what, "too little to tell")
    return Row(what, f"{value:.2f}", f"at most {EXPONENT_AIM:g}", value <= EXPONENT_AIM, strict=False)
