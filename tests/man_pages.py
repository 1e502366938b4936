"""Writes `docs/man/*.1`, one page for each command, from what `--help` says.

python -m tests.man_pages         (or: make man)
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import typer
from click_man.core import write_man_pages  # type: ignore[import-untyped]

from jsdoctor import __version__
from jsdoctor.cli.app import app

MAN = Path(__file__).resolve().parent.parent / "docs" / "man"


def write(directory: Path) -> None:
    """Write them all there. They carry the version, and no date: the same commands make the same pages."""
    directory.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # click-man 0.6 calls what click renames
        command = typer.main.get_command(app)
        write_man_pages("jsdoctor", command, version=__version__, target_dir=str(directory), date=__version__)


if __name__ == "__main__":
    for old in MAN.glob("*.1"):
        old.unlink()
    write(MAN)
    sys.stderr.write(f"wrote {len(list(MAN.glob('*.1')))} pages to {MAN}\n")
