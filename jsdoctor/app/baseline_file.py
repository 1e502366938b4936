"""Reading a baseline from disk."""

from __future__ import annotations

from pathlib import Path

from jsdoctor.configuration.baseline import BaselineError, parse_baseline
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.suppression import Baseline


def load_baseline(path: Path) -> Baseline:
    """Read a baseline. Raises `UsageProblem` if the file cannot be read or is no baseline."""
    try:
        return parse_baseline(str(path), path.read_bytes())
    except OSError as error:
        message = f"cannot read the baseline {path}: {error.strerror}"
        raise UsageProblem(message, f"write one: jsdoctor baseline write {path}") from error
    except BaselineError as error:
        raise UsageProblem(str(error), f"write it again: jsdoctor baseline write {path}") from error
