"""The command `where` as typer sees it. Work is imported when it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from jsdoctor.app.request import WhereOptions
from jsdoctor.cli.option_groups import Given, OptionsOf, takes
from jsdoctor.cli.requests import wanted_evidence
from jsdoctor.model.option import request_from
from jsdoctor.sources import request as asked
from jsdoctor.sources.connect.options import ConnectionOptions

if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode

# A paragraph that begins with a backspace is not wrapped.
WHERE_HELP = """Find out where a subject, a stream, a consumer or a message is, and who reads it.

Reads only. Exit codes: 0 found, 1 not there, 3 not found and not everything was seen.

\b
Examples:
  jsdoctor where orders.new                which stream stores it, and which consumers get it
  jsdoctor where ORDERS                    leader, copies, subjects, mirrors, consumers
  jsdoctor where ORDERS/billing            where a consumer is, and how far
  jsdoctor where 'ORDERS#1200'             whether a message is stored, or what removed it
  jsdoctor where orders.new --bundle FILE  as it was when it was captured
"""


@takes(
    WhereOptions,
    ConnectionOptions,
    OptionsOf(asked.LiveRequest, ("monitor",)),
    asked.KubeRequest,
    OptionsOf(asked.CapturedRequest, ("bundle",)),
)
def where(
    given: Given,
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="SUBJECT, STREAM, STREAM/CONSUMER or STREAM#SEQUENCE, or several."),
    ],
) -> None:
    """Find where things are; its help is WHERE_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.app.where import WhereRequest, run_where
        from jsdoctor.cli.console import MESSAGES
        from jsdoctor.cli.output import write_results
        from jsdoctor.engine.verdict import ExitCode
        from jsdoctor.redaction.scrubbed import scrubbed
        from jsdoctor.render.where import render_where, render_where_json

        once = {} if given["bundle"] else {"samples": 1}
        wanted = wanted_evidence({**given, **once})
        request = replace(request_from(WhereRequest, given), asked=tuple(names), wanted=wanted)
        report = scrubbed(run_where(request, MESSAGES))
        write_results(request, {"text": render_where, "json": render_where_json}, report)
        if all(result.found for result in report.results):
            return ExitCode.OK
        hidden = any(result.unseen for result in report.results if not result.found)
        return ExitCode.INCONCLUSIVE if hidden else ExitCode.FINDINGS

    raise typer.Exit(guarded(work))
