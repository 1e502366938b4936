"""The command line as typer sees it: commands, their options and help. Work is imported when a command runs."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jsdoctor import __version__
from jsdoctor.cli import option_groups as groups
from jsdoctor.cli import options as opt
from jsdoctor.cli.console import Color
from jsdoctor.cli.log_engine import Engine
from jsdoctor.cli.option_groups import Given, takes

if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode, NagiosState

_OBJECTS_BETWEEN_GARBAGE = 100_000
"""Nearly all that a run makes it needs to its end. Looking for garbage at Python's usual pace takes a sixth of the
time on a large cluster, and saves no memory."""

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}

# A paragraph that begins with a backspace is not wrapped.
CHECK_HELP = """Check a JetStream deployment, live or captured, and logs.

Reads only, but for the consumer that a --scan makes and deletes.

\b
Examples:
  jsdoctor check                              the selected nats context
  jsdoctor check --context prod-sys           system account: sees everything
  jsdoctor check -s nats://app:pw@host:4222   plain account: its own streams
  jsdoctor check --monitor http://host:8222   HTTP monitoring, once per server
  jsdoctor check --select JSD4 --format json  consumer rules, as JSON
  jsdoctor check --bundle FILE.zip            what jsdoctor capture wrote
  jsdoctor check --logs nats.log              logs alone; with -s or --bundle both
"""

AUDIT_HELP = """Audit logs of servers and clients, of any size, with Spark. Connects to no NATS server.

\b
Examples:
  jsdoctor audit logs/                              a directory, rotated and packed files too
  jsdoctor audit --timezone Europe/Berlin 'n*.log'  times without a zone are of that one
  jsdoctor audit --master spark://host:7077 /mnt/logs
  jsdoctor audit --remote sc://host:15002 s3://bucket/nats
  jsdoctor check --logs nats.log                    one file, at once, without Spark
"""

CAPTURE_HELP = """Capture the evidence of a live deployment into a file, to be checked later or elsewhere.

Reads only, but for the consumer that a --scan makes and deletes. Secrets are taken out before anything is written.

\b
Examples:
  jsdoctor capture -o prod.zip                   the selected nats context
  jsdoctor capture -o prod.zip --context sys     system account: sees everything
  jsdoctor check --bundle prod.zip               then, anywhere
"""

app = typer.Typer(
    name="jsdoctor",
    help="Diagnose NATS JetStream: one rule per documented cause, each confirmed, ruled out, or named as unknown.",
    epilog=(
        "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage, 3 inconclusive (evidence missing), "
        "4 internal error, 130 interrupted."
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT_SETTINGS,
)
rules_app = typer.Typer(help="List and validate rules.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(rules_app, name="rules")


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    gc.set_threshold(_OBJECTS_BETWEEN_GARBAGE)
    try:
        app(args=list(arguments), prog_name="jsdoctor", standalone_mode=True)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 1
    return 0


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jsdoctor {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Diagnose NATS JetStream: one rule per documented cause, each confirmed, ruled out, or named as unknown."""


@app.command(help=CHECK_HELP, context_settings=CONTEXT_SETTINGS)
@takes(groups.connection, groups.live, groups.captured, groups.logs, groups.spark, *groups.JUDGING)
def check(given: Given) -> None:
    """Check a deployment; its help is CHECK_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.check_run import run_check
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.evidence_request import evidence_options
    from jsdoctor.cli.judging import judge_options

    def work() -> ExitCode | NagiosState:
        return run_check(judge_options(given), evidence_options(given))

    raise typer.Exit(guarded(work, nagios=given["format_"] is opt.ReportFormat.NAGIOS))


@app.command(help=AUDIT_HELP, context_settings=CONTEXT_SETTINGS)
@takes(groups.spark, groups.events, *groups.JUDGING)
def audit(given: Given, logs: opt.LogPaths, engine: opt.AuditEngine = Engine.AUTO) -> None:
    """Audit logs; its help is AUDIT_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.check_run import run_check
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.evidence_request import EvidenceRequest
    from jsdoctor.cli.judging import judge_options
    from jsdoctor.cli.log_options import required_log_options

    def work() -> ExitCode | NagiosState:
        asked = required_log_options({**given, "logs": logs, "engine": engine}, batch=True)
        return run_check(judge_options(given), EvidenceRequest(logs=asked))

    raise typer.Exit(guarded(work, nagios=given["format_"] is opt.ReportFormat.NAGIOS))


@app.command(help=CAPTURE_HELP, context_settings=CONTEXT_SETTINGS)
@takes(groups.connection, groups.live, groups.configuration)
def capture(given: Given, output: opt.BundleFile, force: opt.Force = False, quiet: opt.QuietCapture = False) -> None:
    """Capture a deployment; its help is CAPTURE_HELP, where lines can be kept as they are."""
    from jsdoctor.cli.capture_run import CaptureRequest, run_capture
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.evidence_request import evidence_options

    def work() -> ExitCode:
        return run_capture(
            CaptureRequest(
                wanted=evidence_options(given),
                output=output,
                force=force,
                quiet=quiet,
                config=given["config"],
                isolated=given["isolated"],
            )
        )

    raise typer.Exit(guarded(work))


@app.command(context_settings=CONTEXT_SETTINGS)
def explain(
    name: Annotated[str, typer.Argument(metavar="CODE|SLUG", help="A rule: JSD403 or consumer-ack-pending-at-limit.")],
    rules: opt.Rules = None,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """Show the page of a rule: what it detects, why it matters, how it is measured, how to fix it."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.rule_commands import show_page

    raise typer.Exit(guarded(lambda: show_page(name, tuple(rules or ()), color)))


@app.command(context_settings=CONTEXT_SETTINGS)
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server running until you press Ctrl-C.")] = False,
    verbose: opt.Verbose = 0,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """Start a real nats-server here, plant faults in it, and run `jsdoctor check` on it."""
    from jsdoctor.cli.demo_run import run_demo
    from jsdoctor.cli.errors import guarded

    raise typer.Exit(guarded(lambda: run_demo(keep, verbose, color)))


@rules_app.command("list", context_settings=CONTEXT_SETTINGS)
def rules_list(
    rules: opt.Rules = None,
    format_: opt.ListFormat = opt.CatalogueFormat.TEXT,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """List every rule: code, severity, slug and the healthy state it checks for."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.rule_commands import list_rules

    raise typer.Exit(guarded(lambda: list_rules(tuple(rules or ()), format_.value, color)))


@rules_app.command("validate", context_settings=CONTEXT_SETTINGS)
def rules_validate(
    directories: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Directories with rule pages of your own.")
    ] = None,
) -> None:
    """Check rule pages: keys, sections, codes, checks and remedies. Says every mistake with file and line."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.rule_commands import validate_rules

    raise typer.Exit(guarded(lambda: validate_rules(tuple(directories or ()))))
