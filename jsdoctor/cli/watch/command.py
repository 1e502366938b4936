"""The command `watch` as typer sees it. Work is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from jsdoctor.app.outputs import Color
from jsdoctor.cli import option_groups as groups
from jsdoctor.cli import options as opt
from jsdoctor.cli.option_groups import Given, takes
from jsdoctor.cli.watch import options as watch_opt

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


@takes(*groups.LIVE, groups.rules, groups.configuration)
def watch(
    given: Given,
    every: watch_opt.Every = 10.0,
    for_: watch_opt.For = None,
    once_healthy: watch_opt.OnceHealthy = False,
    notify: watch_opt.Notify = None,
    fail_on: opt.FailOn = None,
    baseline: opt.BaselineFile = None,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """Watch a deployment; its help is WATCH_HELP, where lines can be kept as they are."""
    from jsdoctor.app.watch.request import WatchRequest
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.evidence_options import evidence_options
    from jsdoctor.cli.judge_options import judge_options
    from jsdoctor.cli.watch.run import run_watch

    def work() -> ExitCode | NagiosState:
        return run_watch(
            WatchRequest(
                judge=judge_options({**given, "fail_on": fail_on, "baseline": baseline, "color": color}),
                wanted=evidence_options(given),
                every_s=every,
                for_s=for_,
                once_healthy=once_healthy,
                receivers=tuple(dict.fromkeys(notify or ())),
            )
        )

    raise typer.Exit(guarded(work))
