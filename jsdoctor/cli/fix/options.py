"""The options of `fix` and `rollback` that no other command has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jsdoctor.app.outputs import Color, PlanFormat
from jsdoctor.cli import options as opt
from jsdoctor.cli.options import positive_seconds


class Allow(StrEnum):
    """The most severe risk that may be taken without another prompt."""

    SAFE = "safe"
    DISRUPTIVE = "disruptive"
    DESTRUCTIVE = "destructive"


Format = Annotated[
    PlanFormat | None,
    typer.Option("--format", help="How to write the plan. [default: as -o ends, else text]", show_default=False),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="Write the plan there, not to stdout."),
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="Apply the plan that was written there as JSON; make none."),
]
Remedy = Annotated[
    list[str] | None,
    typer.Option(
        "--remedy",
        metavar="CODE[@SUBJECT]=ACTION[,KEY=VALUE]",
        help="What to do for a rule's findings, where its page leaves that to a person; repeat. docs/fix.md has all.",
    ),
]
Steps = Annotated[
    list[str] | None, typer.Option("--step", metavar="N", help="Only these steps of the plan, comma-separated.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Carry the plan out. Without it, nothing is changed.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the plan of --journal, where it was interrupted.")]
Yes = Annotated[bool, typer.Option("--yes", help="Apply without confirmation. Required where there is no terminal.")]
AllowRisk = Annotated[
    Allow | None,
    typer.Option("--allow", help="The most severe risk that may be taken. [default: safe]", show_default=False),
]
JournalFile = Annotated[
    Path | None,
    typer.Option("--journal", metavar="FILE", help="Where to keep what was there before each write."),
]
PatienceTime = Annotated[
    float | None,
    typer.Option(
        "--patience",
        parser=positive_seconds,
        metavar="DURATION",
        help="How long the effect of a step may take to show. [default: 30s, new replicas 10m]",
        show_default=False,
    ),
]
RollbackJournal = Annotated[Path, typer.Argument(metavar="JOURNAL", help="What jsdoctor fix --journal wrote.")]


def looking(
    baseline: opt.BaselineFile = None,
    max_examples: opt.MaxExamples = None,
    quiet: opt.QuietCapture = False,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """What a plan leaves out, and how it is shown: the group that `fix` takes in place of that of a report."""


def plan_format(given: PlanFormat | None, output: Path | None) -> PlanFormat:
    """The format that was named, else that of the file's name."""
    if given is not None:
        return given
    endings = {".json": PlanFormat.JSON, ".md": PlanFormat.MARKDOWN, ".html": PlanFormat.HTML}
    return endings.get(output.suffix.lower(), PlanFormat.TEXT) if output else PlanFormat.TEXT
