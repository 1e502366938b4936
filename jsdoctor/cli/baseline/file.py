"""A baseline on disk: reading it, and writing it whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jsdoctor.cli.output import write_output
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.suppression import Accepted, Baseline
from jsdoctor.parse.baseline import BaselineError, encode_baseline, parse_baseline


def load_baseline(path: Path) -> Baseline:
    """Read one. Raises `UsageProblem` where there is none, or something else."""
    try:
        return parse_baseline(str(path), path.read_bytes())
    except OSError as error:
        message = f"cannot read the baseline {path}: {error.strerror}"
        raise UsageProblem(message, f"write one: jsdoctor baseline write {path}") from error
    except BaselineError as error:
        raise UsageProblem(str(error), f"write it anew: jsdoctor baseline write {path}") from error


def save_baseline(path: Path, accepted: Iterable[Accepted]) -> None:
    """Write one."""
    write_output(encode_baseline(accepted).decode(), path)
