"""Arguments and options of `jsdoctor compare` that no other command has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ComparisonFormat(StrEnum):
    """Formats that a comparison of two reports can be written in."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


EarlierReport = Annotated[Path, typer.Argument(metavar="EARLIER", dir_okay=False, help="The earlier report, JSON.")]
LaterReport = Annotated[Path, typer.Argument(metavar="LATER", dir_okay=False, help="The later report, JSON.")]
CompareFormat = Annotated[
    ComparisonFormat | None,
    typer.Option("--format", help="Format of the comparison. [default: as -o ends, else text]", show_default=False),
]
MaxFindings = Annotated[int, typer.Option("--max-examples", min=0, metavar="N", help="Findings per list; 0 for all.")]
