"""Groups of options that commands share, each declared once; the decorator of a command names its groups.

A group is a request, whose fields are options (`jsdoctor.sources.request`), or a function whose signature lists its
options; it is never called. A decorated command gets the given options of all its groups as one mapping, by option
name, and its own options as arguments.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand

from jsdoctor.app.outputs import Color
from jsdoctor.cli import options as opt
from jsdoctor.collect.connect.options import ConnectionOptions
from jsdoctor.model.option import OptionField, option_fields
from jsdoctor.sources import request as asked

Given = dict[str, Any]
"""What was given for the options of a command's groups, by name; of the types that the groups declare."""

R = TypeVar("R")


class AsText(NamedTuple):
    """Options of a request whose values are passed on as they were typed; all of them where no keys are named."""

    request: type[Any]
    keys: tuple[str, ...] = ()


Group = Callable[..., Any] | AsText
"""A request, or a function whose signature lists options."""


def targets(all_findings: opt.AllFindings = False) -> None:
    """What counts of a change."""


def comparison(
    drift: Annotated[
        bool, typer.Option("--drift", help="With --manifest, exit with 1 if the deployment differs from it.")
    ] = False,
) -> None:
    """What else is made of a deployment and its manifests."""


def rules(
    select: opt.Select = None,
    extend_select: opt.ExtendSelect = None,
    ignore: opt.Ignore = None,
    set_: opt.Set = None,
    rules: opt.Rules = None,
) -> None:
    """Which rules judge, with which parameters."""


def report(
    fail_on: opt.FailOn = None,
    baseline: opt.BaselineFile = None,
    exit_zero: opt.ExitZero = False,
    allow_gaps: opt.AllowGaps = False,
    format_: opt.Format = None,
    output: opt.Output = None,
    max_examples: opt.MaxExamples = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = 0,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """What becomes of the report."""


def answer(
    format_: opt.AnswerFormat = None,
    output: opt.Output = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = 0,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """What becomes of a diagnosis."""


def accepted(baseline: opt.BaselineFile = None) -> None:
    """Which findings count."""


def configuration(
    config: opt.Config = None, isolated: opt.Isolated = False, environment: opt.EnvironmentName = ""
) -> None:
    """Which configuration file, and which environment of it."""


def quiet(quiet: opt.QuietCapture = False) -> None:
    """How much is said on stderr."""


LIVE: tuple[Group, ...] = (ConnectionOptions, asked.LiveRequest)
"""The groups of commands that query a deployment."""

EVIDENCE: tuple[Group, ...] = (*asked.REQUESTS, targets)
"""The groups of every command that collects evidence."""

CAPTURED: tuple[Group, ...] = (
    *LIVE,
    asked.KubeRequest,
    *(asked.LogRequest, asked.TimesRequest, asked.LokiRequest, asked.QueryRequest),
    asked.PacketRequest,
    configuration,
)
"""The groups of `capture`."""

JUDGING: tuple[Group, ...] = (rules, report, configuration)
"""The groups of every command that judges."""


_WHOLE = "jsdoctor.whole_help"
_OFTEN = (
    *("without", "each", "accept", "wait", "server", "context", "select", "logs", "manifest", "bundle"),
    *("output", "format_", "fail_on", "verbose"),
)
"""Options that stand first in a command's help."""


class SectionedCommand(TyperCommand):
    """A command whose help has the options that are used often first, and the others by their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options that are used often, and the names of the others; with `--help-all` all of them, whole.

        Sections are in the order of the command's options, a group by the first line of its docstring.
        """
        groups: tuple[Group, ...] = (
            quiet,
            accepted,
            asked.EventsRequest,
            answer,
            comparison,
            *CAPTURED,
            *JUDGING,
            *EVIDENCE,
        )
        titles = {option.name: _title(group) for group in groups for option in _options_of(group)}
        sections: dict[str, list[tuple[str, str]]] = {"Often used": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                name = parameter.name or ""
                sections.setdefault("Often used" if name in _OFTEN else titles.get(name, "Other"), []).append(record)
        sections["Other"] = sections.pop("Other", [])
        whole = ctx.meta.get(_WHOLE)
        for title, records in sections.items():
            if records and (whole or title in ("Often used", "Other")):
                with formatter.section(title):
                    formatter.write_dl(records)
        if not whole and (more := {title: records for title, records in sections.items() if title in titles.values()}):
            with formatter.section("More, explained by --help-all"):
                for title, records in more.items():
                    names = " ".join(_long_name(record) for record in records)
                    formatter.write(f"  {title}:\n{_wrapped(names, formatter.width)}\n")


def _long_name(record: tuple[str, str]) -> str:
    """The long name of an option, without its value."""
    return next(word for word in record[0].replace(",", " ").split() if word.startswith("--"))


def _wrapped(names: str, width: int) -> str:
    """Names of options, none of which is broken at a hyphen."""
    return textwrap.fill(
        names, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _title(group: Group) -> str:
    return (group.__doc__ or "").partition("\n")[0].rstrip(".")


@cache
def _options_of(group: Group) -> tuple[inspect.Parameter, ...]:
    if isinstance(group, AsText):
        fields = [
            field for field in option_fields(group.request) if field.option.key in (group.keys or field.option.key)
        ]
        return tuple(_parameter(field, parsed=False) for field in fields)
    if isinstance(group, type):
        return tuple(map(_parameter, option_fields(group)))
    return tuple(inspect.signature(group, eval_str=True).parameters.values())


def _parameter(field: OptionField, *, parsed: bool = True) -> inspect.Parameter:
    """The parameter of a command by which typer knows an option."""
    given = field.option
    kind: Any
    default: Any = None
    if field.type is bool:
        kind, default = bool, False
    elif field.many:
        kind = list[str if given.read else field.type] | None  # type: ignore[misc]
    elif issubclass(field.type, StrEnum):
        kind, default = field.type, field.default
    else:
        kind = (str if given.read and not parsed else field.type) | None
    notes = [given.help]
    notes += ["Can be repeated."] if field.many and "repeat" not in given.help else []
    notes += [f"[env: {given.variable}]"] if given.variable else []
    notes += [f"[default: {given.default}]"] if given.default else []
    shown = typer.Option(
        *given.names,
        help=" ".join(notes),
        metavar=given.metavar or None,
        parser=opt.parsed_by(given.read) if given.read and parsed else None,
        show_default=not given.default and field.type is not bool and default is not None,
    )
    return inspect.Parameter(
        given.key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown]
    )


_help_all = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all", is_eager=True, callback=_show_all, help="Show every option with its help, and exit."
        ),
    ],
)


def takes(*groups: Group) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command the options of these groups, after its own. Its first parameter receives what was given."""

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        signature = inspect.signature(command, eval_str=True)
        own = list(signature.parameters.values())[1:]
        shared = [option for group in groups for option in _options_of(group)]
        names = {option.name for option in shared}

        def run(**values: Any) -> R:
            given = {name: value for name, value in values.items() if name in names}
            rest = {name: value for name, value in values.items() if name not in names and name != _help_all.name}
            return command(given, **rest)

        # typer needs both: the signature for the defaults, the annotations for the types.
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [option.replace(kind=keyword) for option in (*own, *shared, _help_all)]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate
