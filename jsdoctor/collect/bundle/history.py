"""Earlier bundles of a directory, oldest first: what they showed last, and which of them cannot be read."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jsdoctor.collect.bundle.read import BundleProblem, read_bundle
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.history import MAX_SAMPLES

MAX_BUNDLES = MAX_SAMPLES
"""Of more: first, last, and others between."""


class Earlier(NamedTuple):
    """One bundle: its samples, and when the last of them was taken. Some replies are requested in the first only."""

    path: Path
    taken_at: datetime
    samples: tuple[Sample, ...]


def read_history(directory: Path, before: datetime) -> tuple[list[Earlier], list[Gap]]:
    """The bundles taken before that time. Raises `UsageProblem` where there is no such directory, or no ZIP in it."""
    if not directory.is_dir():
        raise UsageProblem(f"--history {directory} is no directory", "name one with bundles of jsdoctor capture")
    paths = sorted(path for path in directory.iterdir() if path.suffix.lower() == ".zip")
    if not paths:
        raise UsageProblem(f"there are no bundles (*.zip) in {directory}", "write some: jsdoctor capture -o FILE.zip")
    result: list[Earlier] = []
    gaps: list[Gap] = []
    for path in thinned(paths):
        try:
            samples = read_bundle(path).samples
        except (BundleProblem, UsageProblem) as problem:
            gaps.append(Gap("history", CLUSTER, problem.message, problem.hint))
            continue
        if samples[-1].taken_at < before:
            result.append(Earlier(path, samples[-1].taken_at, samples))
    return sorted(result, key=lambda earlier: earlier.taken_at), gaps


def thinned(paths: list[Path]) -> list[Path]:
    """Not more than `MAX_BUNDLES`, with the first and the last."""
    if len(paths) <= MAX_BUNDLES:
        return paths
    step = (len(paths) - 1) / (MAX_BUNDLES - 1)
    return [paths[round(number * step)] for number in range(MAX_BUNDLES)]
