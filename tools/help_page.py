"""Writes `jsdoctor/cli/help_page.txt`: what typer prints for `jsdoctor --help`, at 80 columns.

python -m tools.help_page         (or: make help-page)
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from jsdoctor.__main__ import HELP_PAGE

TYPER_HELP = "from jsdoctor.cli.app import run; run(['--help'])"


def help_of_typer() -> str:
    """The help as typer writes it."""
    environment = {**os.environ, "COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", TYPER_HELP], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    Path(HELP_PAGE).write_text(help_of_typer(), "utf-8")
