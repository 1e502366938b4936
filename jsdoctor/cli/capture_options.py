"""What `jsdoctor capture` takes beside the evidence of a deployment."""

from __future__ import annotations

from typing import Annotated

import typer

KeptLogs = Annotated[
    list[str] | None,
    typer.Option("--logs", metavar="PATH", help="Keep the relevant lines of these logs, too. Can be repeated."),
]
KeptSince = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="With --logs or --loki: from here on, e.g. 2h.")
]
KeptUntil = Annotated[str | None, typer.Option("--until", metavar="TIME", help="With --logs or --loki: up to here.")]
KeptReport = Annotated[
    bool, typer.Option("--report", help="Put the HTML report of a check into the bundle, as report.html.")
]
