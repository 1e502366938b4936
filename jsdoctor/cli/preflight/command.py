"""The command `preflight` as typer sees it. Work is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jsdoctor.app.outputs import Color, PreflightFormat
from jsdoctor.cli import option_groups as groups
from jsdoctor.cli import options as opt
from jsdoctor.cli.option_groups import AsText, Given, takes
from jsdoctor.collect.connect.options import ConnectionOptions
from jsdoctor.model.preflight import Acceptance
from jsdoctor.sources import request as asked

if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode

# A paragraph that begins with a backspace is not wrapped.
PREFLIGHT_HELP = """Find out whether servers can be taken down now: what would lose its quorum, its data or its clients.

Reads only. Exit codes: 0 go, 1 no-go, 2 usage, 3 unknown because evidence is missing.

\b
Examples:
  jsdoctor preflight --without n2 --context sys    before a restart
  jsdoctor preflight --each --context sys          which single failure hurts whom
  jsdoctor preflight --without tag:az=1            a zone, by the tags of servers
  jsdoctor preflight --without cluster:east        a cluster of a super-cluster
  jsdoctor preflight --without n2 --accept unavailable    single copies may pause
  jsdoctor preflight --without n2 --wait 10m       in a script, until it is a go
  jsdoctor preflight --without n2 --kube -n nats   the pods of a namespace
  jsdoctor preflight --without n2 --bundle FILE    as it was when it was captured
  jsdoctor preflight --without n2 -o go.json       for a pipeline
"""


@takes(
    ConnectionOptions,
    AsText(asked.LiveRequest, ("monitor", "samples", "interval")),
    asked.KubeRequest,
    AsText(asked.CapturedRequest, ("bundle",)),
    groups.configuration,
)
def preflight(
    given: Given,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Bundles, archives of `nats audit gather`, or replies of servers."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="SERVER",
            help="Server to take down: NAME, tag:TAG or cluster:NAME. Can be repeated; all go down together.",
        ),
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Judge every server in turn, beside those of --without.")
    ] = False,
    accept: Annotated[
        list[Acceptance] | None,
        typer.Option(
            "--accept",
            help="Obstacle that does not count. unavailable: single copies pause; loss: those in memory are lost."
            " Can be repeated.",
        ),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            parser=opt.positive_seconds,
            metavar="DURATION",
            help="Collect again for so long while only time stands in the way: a server comes back,"
            " a member catches up.",
            show_default=False,
        ),
    ] = 0.0,
    format_: Annotated[
        PreflightFormat | None,
        typer.Option("--format", help="Format of the result. [default: as -o ends, else text]", show_default=False),
    ] = None,
    output: opt.Output = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Verdicts only, one line each.")] = False,
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, help="Show every name.")] = 0,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """Judge a stop of servers; its help is PREFLIGHT_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.app.comma_lists import split
        from jsdoctor.app.outputs import resolve
        from jsdoctor.app.preflight import PreflightRequest
        from jsdoctor.cli.evidence_options import evidence_options
        from jsdoctor.cli.preflight.run import run

        wanted = evidence_options(given)
        if files:
            from jsdoctor.app.pieces import files_and_options

            wanted = files_and_options(files, wanted)
        return run(
            PreflightRequest(
                wanted=wanted,
                without=split(without),
                each=each,
                accepted=tuple(accept or ()),
                wait_s=wait,
                outputs=resolve(output, format_, list(PreflightFormat)),
                quiet=quiet,
                verbose=verbose,
                color=color,
                **{name: given[name] for name in ("config", "isolated", "environment")},
            )
        )

    raise typer.Exit(guarded(work))
