"""A baseline on disk: writing it whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jsdoctor.cli.output import write_output
from jsdoctor.model.suppression import Accepted
from jsdoctor.parse.baseline import encode_baseline


def save_baseline(path: Path, accepted: Iterable[Accepted]) -> None:
    """Write one."""
    write_output(encode_baseline(accepted).decode(), path)
