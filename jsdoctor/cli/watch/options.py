"""Options of `jsdoctor watch` that no other command has."""

from __future__ import annotations

from typing import Annotated

import typer

from jsdoctor.app.watch.receiver import Receiver, parse_receiver
from jsdoctor.cli.options import parsed_by, positive_seconds

Every = Annotated[
    float,
    typer.Option(
        "--every",
        parser=positive_seconds,
        metavar="DURATION",
        help="Time between checks. [default: 10s]",
        show_default=False,
    ),
]
For = Annotated[
    float | None,
    typer.Option(
        "--for",
        parser=positive_seconds,
        metavar="DURATION",
        help="End after this time and at least one check. [default: until stopped]",
        show_default=False,
    ),
]
OnceHealthy = Annotated[
    bool, typer.Option("--once-healthy", help="End with 0 at the first check without findings at or above --fail-on.")
]
Notify = Annotated[
    list[Receiver] | None,
    typer.Option(
        "--notify",
        parser=parsed_by(parse_receiver),
        metavar="[FORMAT=]URL",
        help=(
            "Post findings at or above --fail-on there when they appear, worsen and are resolved, as JSON; "
            "FORMAT is json, slack or alertmanager. Repeatable."
        ),
    ),
]
