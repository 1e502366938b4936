"""The command `preflight` as typer sees it. Work is imported when it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from jsdoctor.app.request import StopRequest
from jsdoctor.cli.option_groups import Given, OptionsOf, takes
from jsdoctor.cli.requests import wanted_evidence
from jsdoctor.model.option import request_from
from jsdoctor.sources import request as asked
from jsdoctor.sources.connect.options import ConnectionOptions

if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode, NagiosState

# A paragraph that begins with a backspace is not wrapped.
PREFLIGHT_HELP = """Find out whether servers can be taken down now, or run another release.

What would lose its quorum, its data or its clients; what a release cannot run, changes, fixes or brings.

Reads only. Exit codes: 0 go, 1 no-go, 2 usage, 3 unknown because evidence is missing.

\b
Examples:
  jsdoctor preflight --without n2 --context sys    before a restart
  jsdoctor preflight --each --context sys          which single failure hurts whom
  jsdoctor preflight --without tag:az=1            a zone, by the tags of servers
  jsdoctor preflight --without cluster:east        a cluster of a super-cluster
  jsdoctor preflight --target 2.14.6 --context sys --context app     an upgrade or a downgrade
  jsdoctor preflight --manifest deploy/            what is to be deployed, as check --manifest
  jsdoctor preflight --without n2 --accept unavailable    single copies may pause
  jsdoctor preflight --without n2 --wait 10m       in a script, until it is a go
  jsdoctor preflight --without n2 --kube -n nats   the pods of a namespace
  jsdoctor preflight --without n2 --bundle FILE    as it was when it was captured
  jsdoctor preflight --without n2 -o go.json       for a pipeline
"""


@takes(
    StopRequest,
    ConnectionOptions,
    OptionsOf(asked.LiveRequest, ("monitor", "samples", "interval")),
    asked.KubeRequest,
    OptionsOf(asked.CapturedRequest, ("bundle",)),
    asked.ManifestRequest,
)
def preflight(
    given: Given,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Bundles, archives of `nats audit gather`, or replies of servers."),
    ] = None,
) -> None:
    """Judge a stop of servers; its help is PREFLIGHT_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode | NagiosState:
        from jsdoctor.app.preflight import PreflightRequest
        from jsdoctor.cli.preflight.run import run, run_manifests

        wanted = wanted_evidence(given)
        if files:
            from jsdoctor.app.pieces import files_and_options

            wanted = files_and_options(files, wanted)
        request = replace(request_from(PreflightRequest, given), wanted=wanted)
        return run_manifests(request) if wanted.manifests.paths else run(request)

    raise typer.Exit(guarded(work))
