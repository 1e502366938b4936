"""The command line as typer sees it: commands, their options and help. Work is imported when a command runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from jsdoctor import __version__
from jsdoctor.app.outputs import parse_file, writes_nagios
from jsdoctor.app.request import (
    AnswerRequest,
    ChangeRequest,
    CompareRequest,
    ConfigurationRequest,
    ListenRequest,
    OutputRequest,
    QuietRequest,
    RuleRequest,
    SymptomRequest,
)
from jsdoctor.cli import option_groups as groups
from jsdoctor.cli.capacity_command import CAPACITY_HELP, capacity
from jsdoctor.cli.completion import complete_page
from jsdoctor.cli.fix.commands import FIX_HELP, fix, rollback
from jsdoctor.cli.help_texts import (
    AUDIT_HELP,
    BASELINE_HELP,
    CAPTURE_HELP,
    CHECK_HELP,
    COMPARE_HELP,
    DIAGNOSE_HELP,
    SERVE_HELP,
)
from jsdoctor.cli.mcp.command import MCP_HELP, mcp
from jsdoctor.cli.option_groups import Given, OptionsOf, SectionedCommand, parsed_by, takes
from jsdoctor.cli.preflight.command import PREFLIGHT_HELP, preflight
from jsdoctor.cli.requests import audit_request, judge_request, wanted_evidence
from jsdoctor.cli.watch.command import WATCH_HELP, watch
from jsdoctor.cli.where_command import WHERE_HELP, where
from jsdoctor.model.evidence import EvidenceSource
from jsdoctor.model.finding import Severity
from jsdoctor.model.option import request_from
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.request import (
    EventsRequest,
    LokiRequest,
    QueryRequest,
    ReaderRequest,
    TimesRequest,
)

_SECTIONS = {
    "Look": {
        "check": "Find what is wrong with a deployment, live or captured",
        "diagnose": "Find the cause of a symptom or an error text",
        "where": "Find out where a subject, stream, consumer or message is",
        "capacity": "Show what space there is, when it is full, what more fits",
        "watch": "Check a live deployment again and again",
        "preflight": "Find out whether to stop a server, or to upgrade, now",
        "audit": "Audit logs of servers and clients, of any size",
        "serve": "Check again and again, and serve metrics to Prometheus",
    },
    "Act": {
        "fix": "Plan fixes for what check finds, apply and verify them",
        "rollback": "Undo what fix changed",
    },
    "Keep": {
        "capture": "Save the evidence of a live deployment in a file",
        "compare": "Compare two JSON reports",
        "baseline": "Accept the findings of today, so that only new ones count",
    },
    "Learn": {
        "explain": "Show the page of a rule, a symptom or an API error",
        "rules": "List and validate rules",
        "demo": "Plant faults in a server of its own, and check it",
    },
    "Set up": {
        "config": "Show the configuration",
        "mcp": "Serve the read-only commands to assistants",
    },
}
"""The commands as `--help` lists them, each in less than a line."""


class RedactingGroup(TyperGroup):
    """The group of all commands. It removes secrets from errors of the parser, which quote arguments."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by section, and under "Other" those of no section."""
        named = {name for commands in _SECTIONS.values() for name in commands}
        others = {
            name: self.commands[name].get_short_help_str() for name in self.list_commands(ctx) if name not in named
        }
        for section, commands in {**_SECTIONS, **({"Other": others} if others else {})}.items():
            with formatter.section(section):
                formatter.write_dl(list(commands.items()), col_max=10)

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Parse the options of the group itself."""
        with _redacted():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Parse what is given to the command, and run it."""
        with _redacted():
            return super().invoke(ctx)


@contextmanager
def _redacted() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # a ClickException, whichever copy of click typer brings
            from jsdoctor.redaction.redact import scrub_line

            error.message = scrub_line(str(getattr(error, "message", "")))  # type: ignore[attr-defined]
        raise


if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode, NagiosState

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


app = typer.Typer(
    name="jsdoctor",
    cls=RedactingGroup,
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
baseline_app = typer.Typer(
    help=BASELINE_HELP, no_args_is_help=True, rich_markup_mode=None, context_settings=CONTEXT_SETTINGS
)
app.add_typer(baseline_app, name="baseline")
config_app = typer.Typer(
    help="Show the configuration.", no_args_is_help=True, rich_markup_mode=None, context_settings=CONTEXT_SETTINGS
)
app.add_typer(config_app, name="config")


_COMMAND_ALIASES = {"help": "--help", "version": "--version"}
"""Commands of other tools, and the option that does the same: `jsdoctor help check` is `jsdoctor check --help`."""
_COMPLETION = ("--install-completion", "--show-completion")


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    if arguments and arguments[0] in _COMMAND_ALIASES:
        arguments = [*arguments[1:], _COMMAND_ALIASES[arguments[0]]]
    option, equals, shell = (arguments[0] if arguments else "").partition("=")
    if option in _COMPLETION and (equals or len(arguments) > 1):
        # Without this typer ignores the name of the shell and takes the one that it finds among the parent processes.
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
        arguments = [option, shell, *arguments[1:]] if equals else arguments
    try:
        commands()(args=list(arguments), prog_name="jsdoctor", standalone_mode=True)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 1
    return 0


@cache
def commands() -> Any:
    """The commands as click has them. They are cached, as typer takes 30 ms to make them."""
    return typer.main.get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jsdoctor {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Diagnose NATS JetStream: one rule per documented cause, each confirmed, ruled out, or named as unknown."""


_Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
_file = parsed_by(parse_file)
_BaselinePath = Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, help="Baseline, a JSON file.")]


class CatalogueFormat(StrEnum):
    """Formats that the catalogue of rules can be written in."""

    TEXT = "text"
    JSON = "json"


_ListFormat = Annotated[CatalogueFormat, typer.Option("--format", help="Format of the list.")]
_MovedOption = Annotated[str | None, typer.Option("--listen", hidden=True)]
"""An option that has become a command: it is still parsed, to name the command in an error."""


@app.command(cls=SectionedCommand, help=CHECK_HELP, context_settings=CONTEXT_SETTINGS)
@takes(*groups.EVIDENCE, ChangeRequest, *groups.JUDGING)
def check(
    given: Given,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Files, directories or - for stdin, recognised by content: bundles, logs, captures, manifests,"
            " replies.",
        ),
    ] = None,
    listen: _MovedOption = None,
) -> None:
    """Check a deployment. `--help` prints CHECK_HELP instead."""
    from jsdoctor.cli.check_run import run_check
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode | NagiosState:
        if listen is not None:
            raise UsageProblem("check --listen is a command of its own", f"jsdoctor serve --listen {listen}")
        if files:
            from jsdoctor.app.pieces import files_and_options

            return run_check(judge_request(given), files_and_options(files, wanted_evidence(given, files=True)))
        return run_check(judge_request(given), wanted_evidence(given))

    raise typer.Exit(guarded(work, nagios=writes_nagios(given["output"], given["format"])))


@app.command(cls=SectionedCommand, help=SERVE_HELP, context_settings=CONTEXT_SETTINGS)
@takes(ListenRequest, *groups.EVIDENCE, groups.CHANGED, RuleRequest, groups.ACCEPTED, ConfigurationRequest)
def serve(given: Given) -> None:
    """Serve metrics. `--help` prints SERVE_HELP instead."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.cli.exporter import run_exporter

        return run_exporter(judge_request(given), wanted_evidence(given), request_from(ListenRequest, given))

    raise typer.Exit(guarded(work))


@app.command(cls=SectionedCommand, help=AUDIT_HELP, context_settings=CONTEXT_SETTINGS)
@takes(LokiRequest, QueryRequest, ReaderRequest, TimesRequest, EventsRequest, *groups.JUDGING)
def audit(
    given: Given,
    logs: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files, directories, globs, or URIs such as s3://BUCKET/logs."),
    ] = None,
) -> None:
    """Audit logs. `--help` prints AUDIT_HELP instead."""
    from jsdoctor.cli.check_run import run_check
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode | NagiosState:
        return run_check(judge_request(given), audit_request({**given, "logs": logs}))

    raise typer.Exit(guarded(work, nagios=writes_nagios(given["output"], given["format"])))


@app.command(help=COMPARE_HELP, context_settings=CONTEXT_SETTINGS)
@takes(CompareRequest)
def compare(
    given: Given,
    earlier: Annotated[Path, typer.Argument(metavar="EARLIER", dir_okay=False, help="The earlier report, JSON.")],
    later: Annotated[Path, typer.Argument(metavar="LATER", dir_okay=False, help="The later report, JSON.")],
) -> None:
    """Compare two reports. `--help` prints COMPARE_HELP instead."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.cli.compare_run import run_compare

        return run_compare((earlier, later), request_from(CompareRequest, given))

    raise typer.Exit(guarded(work))


@app.command(cls=SectionedCommand, help=CAPTURE_HELP, context_settings=CONTEXT_SETTINGS)
@takes(*groups.CAPTURED, QuietRequest)
def capture(
    given: Given,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Bundle to write, a ZIP file.", parser=_file)
    ],
    force: _Force = False,
    report: Annotated[
        bool, typer.Option("--report", help="Put the HTML report of a check into the bundle, as report.html.")
    ] = False,
) -> None:
    """Capture a deployment. `--help` prints CAPTURE_HELP instead."""
    from jsdoctor.app.capture import CaptureRequest
    from jsdoctor.cli.capture_run import report_page, run_capture
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        return run_capture(
            CaptureRequest(
                wanted=wanted_evidence(given),
                output=output,
                force=force,
                report=report_page if report else None,
                **vars(request_from(ConfigurationRequest, given)),
            ),
            given["quiet"],
        )

    raise typer.Exit(guarded(work))


app.command(help=MCP_HELP, context_settings=CONTEXT_SETTINGS)(mcp)
app.command(cls=SectionedCommand, help=WATCH_HELP, context_settings=CONTEXT_SETTINGS)(watch)
app.command(cls=SectionedCommand, help=WHERE_HELP, context_settings=CONTEXT_SETTINGS)(where)
app.command(cls=SectionedCommand, help=CAPACITY_HELP, context_settings=CONTEXT_SETTINGS)(capacity)
app.command(cls=SectionedCommand, help=PREFLIGHT_HELP, context_settings=CONTEXT_SETTINGS)(preflight)
app.command(cls=SectionedCommand, help=FIX_HELP, context_settings=CONTEXT_SETTINGS)(fix)
app.command(cls=SectionedCommand, context_settings=CONTEXT_SETTINGS)(rollback)


@app.command(cls=SectionedCommand, help=DIAGNOSE_HELP, context_settings=CONTEXT_SETTINGS)
@takes(SymptomRequest, *groups.EVIDENCE, AnswerRequest, ConfigurationRequest)
def diagnose(
    given: Given,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Error text, or the symptom in your words; - for stdin."),
    ] = None,
) -> None:
    """Diagnose a symptom. `--help` prints DIAGNOSE_HELP instead."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.app.diagnose.given import given_texts
        from jsdoctor.app.diagnose.request import DiagnoseRequest
        from jsdoctor.app.rulebook import open_rulebook
        from jsdoctor.cli.diagnose.run import run_diagnose

        texts = given_texts(text or (), given["logs"] or (), open_rulebook().rules)
        wanted = texts.added_to(wanted_evidence(given, files=texts.files))
        return run_diagnose(
            replace(
                request_from(DiagnoseRequest, given), text=texts.words, problem_lines=texts.problem_lines, wanted=wanted
            )
        )

    raise typer.Exit(guarded(work))


_PAGE_OPTIONS = (OptionsOf(RuleRequest, ("rules",)), OptionsOf(OutputRequest, ("color",)))
"""The options of a command that shows a text."""


@app.command(context_settings=CONTEXT_SETTINGS)
@takes(*_PAGE_OPTIONS)
def explain(
    given: Given,
    name: Annotated[
        str,
        typer.Argument(
            metavar="CODE|SLUG|API-ERROR",
            help="A rule (JSD403), a symptom (duplicate-messages), an API error (10071).",
            autocompletion=complete_page,
        ),
    ],
) -> None:
    """Show the page of a rule, a symptom or an API error: what it means, how it is measured, how to fix it."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.rule_commands import show_page

    raise typer.Exit(guarded(lambda: show_page(name, tuple(given["rules"] or ()), given["color"])))


@app.command(context_settings=CONTEXT_SETTINGS)
@takes(OptionsOf(OutputRequest, ("verbose", "color")))
def demo(
    given: Given,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server running until you press Ctrl-C.")] = False,
) -> None:
    """Start a real nats-server here, plant faults in it, and run `jsdoctor check` on it."""
    from jsdoctor.cli.demo_run import run_demo
    from jsdoctor.cli.errors import guarded

    raise typer.Exit(guarded(lambda: run_demo(keep, given["verbose"], given["color"])))


@rules_app.command("list", context_settings=CONTEXT_SETTINGS)
@takes(*_PAGE_OPTIONS)
def rules_list(
    given: Given,
    severity: Annotated[Severity | None, typer.Option("--severity", help="Only rules of this severity.")] = None,
    family: Annotated[
        str | None, typer.Option("--family", help="Only rules of this failure mode, e.g. consumer_lag.", metavar="NAME")
    ] = None,
    evidence: Annotated[
        EvidenceSource | None, typer.Option("--evidence", help="Only rules that judge what comes from there.")
    ] = None,
    fixable: Annotated[bool, typer.Option("--fixable", help="Only rules with a fix that jsdoctor can apply.")] = False,
    format_: _ListFormat = CatalogueFormat.TEXT,
) -> None:
    """List every rule: code, severity, slug and the healthy state it checks for."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.rule_commands import RuleFilter, list_rules

    wanted = RuleFilter(severity or "", family or "", evidence or "", fixable)
    raise typer.Exit(guarded(lambda: list_rules(tuple(given["rules"] or ()), wanted, format_.value, given["color"])))


@rules_app.command("validate", context_settings=CONTEXT_SETTINGS)
def rules_validate(
    directories: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Directories with rule pages of your own.")
    ] = None,
) -> None:
    """Check rule pages: keys, sections, codes, checks and remedies. Reports every mistake with file and line."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.rule_commands import validate_rules

    raise typer.Exit(guarded(lambda: validate_rules(tuple(directories or ()))))


@baseline_app.command("write", context_settings=CONTEXT_SETTINGS)
@takes(*groups.EVIDENCE, groups.CHANGED, RuleRequest, QuietRequest, ConfigurationRequest)
def baseline_write(given: Given, file: _BaselinePath, force: _Force = False) -> None:
    """Accept every finding that counts today."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.cli.baseline.run import run_write

        return run_write(file, force, judge_request(given), wanted_evidence(given))

    raise typer.Exit(guarded(work))


@baseline_app.command("prune", context_settings=CONTEXT_SETTINGS)
@takes(*groups.EVIDENCE, groups.CHANGED, RuleRequest, QuietRequest, ConfigurationRequest)
def baseline_prune(given: Given, file: _BaselinePath) -> None:
    """Forget the accepted findings that are there no more. Those of rules that could not be judged are kept."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.cli.baseline.run import run_prune

        return run_prune(file, judge_request(given), wanted_evidence(given))

    raise typer.Exit(guarded(work))


@config_app.command("show", context_settings=CONTEXT_SETTINGS)
@takes(ConnectionOptions, ConfigurationRequest)
def config_show(
    given: Given,
    every: Annotated[bool, typer.Option("--all", help="Include parameters of rules that are not set.")] = False,
    format_: _ListFormat = CatalogueFormat.TEXT,
) -> None:
    """Show every setting as it applies, and where it comes from. Logins are not shown."""
    from jsdoctor.cli.errors import guarded

    def work() -> ExitCode:
        from jsdoctor.cli.config_show import show_config

        return show_config(given, every, format_.value)

    raise typer.Exit(guarded(work))
