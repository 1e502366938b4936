"""The command `watch` as typer sees it. Work is imported when it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from jsdoctor.app.request import ConfigurationRequest, ReportRequest, RuleRequest
from jsdoctor.app.watch.request import WatchRequest
from jsdoctor.cli import option_groups as groups
from jsdoctor.cli.option_groups import Given, OptionsOf, takes
from jsdoctor.cli.requests import judge_request, wanted_evidence
from jsdoctor.model.option import request_from

if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode, NagiosState

# A paragraph that begins with a backspace is not wrapped.
WATCH_HELP = """Check a live deployment again and again: what is wrong now, what moves, what appeared and what is gone.

On a terminal a full screen with keys; elsewhere one line for each change. Reads only. The exit code is that of the
newest check.

\b
Examples:
  jsdoctor watch                              the selected nats context
  jsdoctor watch --every 30s --for 10m        for ten minutes
  jsdoctor watch --once-healthy --for 5m      after a fix: 0 as soon as it is healthy
  jsdoctor watch --notify slack=https://hooks.slack.com/services/...
  jsdoctor watch --notify alertmanager=http://am:9093/api/v2/alerts
"""


@takes(
    WatchRequest,
    *groups.LIVE,
    RuleRequest,
    OptionsOf(ReportRequest, ("fail_on", "baseline", "color")),
    ConfigurationRequest,
)
def watch(given: Given) -> None:
    """Watch a deployment; its help is WATCH_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.watch.run import run_watch

    def work() -> ExitCode | NagiosState:
        asked = request_from(WatchRequest, given)
        return run_watch(replace(asked, judge=judge_request(given), wanted=wanted_evidence(given)))

    raise typer.Exit(guarded(work))
