"""The command `capacity` as typer sees it. Work is imported when it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from jsdoctor.app.request import CapacityOptions
from jsdoctor.cli.option_groups import Given, OptionsOf, takes
from jsdoctor.cli.requests import wanted_evidence
from jsdoctor.model.option import request_from
from jsdoctor.sources import request as asked
from jsdoctor.sources.connect.options import ConnectionOptions

if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode

# A paragraph that begins with a backspace is not wrapped.
CAPACITY_HELP = """Show what space servers, accounts and streams have, when it is full, and what more fits.

Reads only. Exit codes: 0 shown, and there is room; 1 no room for --size; 2 usage; 3 not all of it could be seen.

\b
Examples:
  jsdoctor capacity --context sys                  limits, reservations, use, growth
  jsdoctor capacity --context sys --history DIR    growth over the days of earlier bundles
  jsdoctor capacity --context sys --size 10GiB --replicas 3 --streams 3    is there room?
  jsdoctor capacity --context sys --this-host      with what is free on the disk
  jsdoctor capacity --bundle FILE                  as it was when it was captured
"""


@takes(
    CapacityOptions,
    ConnectionOptions,
    OptionsOf(asked.LiveRequest, ("monitor", "this_host", "samples", "interval")),
    asked.KubeRequest,
    asked.CapturedRequest,
    asked.PrometheusRequest,
    asked.QueryRequest,
    asked.TimesRequest,
)
def capacity(given: Given) -> None:
    """Show space and how fast it fills; its help is CAPACITY_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.app.capacity import CapacityRequest, run_capacity
        from jsdoctor.cli.console import MESSAGES
        from jsdoctor.cli.output import write_results
        from jsdoctor.engine.verdict import ExitCode
        from jsdoctor.redaction.scrubbed import scrubbed
        from jsdoctor.render.capacity import render_capacity, render_capacity_json

        live = not (given["bundle"] or given["prometheus"])
        sampling = {"samples": 3} if live and given["samples"] is None else {}  # two rates, so that they have a range
        request = replace(request_from(CapacityRequest, given), wanted=wanted_evidence({**given, **sampling}))
        report = scrubbed(run_capacity(request, MESSAGES))
        write_results(request, {"text": render_capacity, "json": render_capacity_json}, report)
        if report.result.has_room is False:
            return ExitCode.FINDINGS
        hidden = request.size and report.result.has_room is None
        return ExitCode.INCONCLUSIVE if hidden or any(gap.requested for gap in report.result.unseen) else ExitCode.OK

    raise typer.Exit(guarded(work))
