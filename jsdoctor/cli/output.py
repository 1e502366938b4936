"""Writing a report: to stdout, or to a file that appears whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from jsdoctor.collect.problems import UsageProblem


def write_output(text: str, path: Path | None) -> None:
    """Write the report. Raises `UsageProblem` when the file cannot be written."""
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageProblem(f"cannot write {path}: {error.strerror}", "choose another place with -o") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(unfinished).chmod(0o666 & ~mask)
        Path(unfinished).replace(path)
    except OSError as error:
        Path(unfinished).unlink(missing_ok=True)
        raise UsageProblem(f"cannot write {path}: {error.strerror}", "choose another place with -o") from error
