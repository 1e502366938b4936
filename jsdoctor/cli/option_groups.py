"""The options of commands for typer. The decorator of a command names its groups of options.

A group is a request, whose fields are options (`jsdoctor.sources.request`, `jsdoctor.app.request`), or some of them. A
decorated command gets what was given for the options of all its groups as one mapping, by option name, and its own
options and arguments as arguments.
"""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand, TyperOption

from jsdoctor.app.request import ChangeRequest, ConfigurationRequest, ReportRequest, RuleRequest
from jsdoctor.cli.completion import complete_rule, complete_setting, complete_symptom
from jsdoctor.model.option import OptionField, option_fields
from jsdoctor.sources import request as asked
from jsdoctor.sources.connect.options import ConnectionOptions

Given = dict[str, Any]
"""What was given for the options of a command's groups, by name; of the types that the groups declare."""

R = TypeVar("R")


class OptionsOf(NamedTuple):
    """Some options of a request, by their keys; all where none are named.

    Those that are not `parsed` are passed on as they were typed.
    """

    request: type[Any]
    keys: tuple[str, ...] = ()
    parsed: bool = True


Group = type[Any] | OptionsOf
"""A request, or a part of one."""

LIVE: tuple[Group, ...] = (ConnectionOptions, asked.LiveRequest)
"""The groups of commands that query a deployment."""

EVIDENCE: tuple[Group, ...] = asked.REQUESTS
"""The groups of every command that collects evidence."""

ACCEPTED = OptionsOf(ReportRequest, ("baseline",))
"""Which findings count."""

CHANGED = OptionsOf(ChangeRequest, ("all_findings",))
"""What counts of a change, where nothing is compared."""

CAPTURED: tuple[Group, ...] = (
    *LIVE,
    asked.KubeRequest,
    *(asked.LogRequest, asked.TimesRequest, asked.LokiRequest, asked.QueryRequest),
    asked.PacketRequest,
    ConfigurationRequest,
)
"""The groups of `capture`."""

JUDGING: tuple[Group, ...] = (RuleRequest, ReportRequest, ConfigurationRequest)
"""The groups of every command that judges."""

_SECTIONS: tuple[type[Any], ...] = (
    *asked.REQUESTS,
    asked.EventsRequest,
    ChangeRequest,
    RuleRequest,
    ReportRequest,
    ConfigurationRequest,
)
"""The requests whose options are explained by `--help-all`, each under the first line of its docstring."""


_HELP_ALL_KEY = "jsdoctor.whole_help"
_FREQUENT = (
    *("without", "each", "target", "accept", "wait", "server", "context", "select", "logs", "manifest", "bundle"),
    *("output", "format", "fail_on", "verbose"),
)
"""Options that stand first in a command's help."""
_FEW_OTHERS = 3
"""Up to so many other options, a command has no `--help-all`."""


class SectionedCommand(TyperCommand):
    """A command whose help has the options that are used often first, and the others by their groups.

    An option that takes one value is refused where it is given twice: the first value would be lost silently.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As always, but for options that are given twice."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        values = [
            option for option in given if isinstance(option, TyperOption) and not (option.count or option.is_flag)
        ]
        for option, times in Counter(values).items():
            if times > 1 and not option.multiple:
                raise typer.BadParameter(f"it is given {times} times, and takes one value", ctx, option)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options that are used often, and the names of the others; with `--help-all` all of them, whole.

        Sections are in the order of the command's options, a group by the first line of its docstring.
        """
        titles = _titles()
        sections: dict[str, list[tuple[str, str]]] = {"Often used": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                name = parameter.name or ""
                sections.setdefault("Often used" if name in _FREQUENT else titles.get(name, "Other"), []).append(record)
        sections["Other"] = sections.pop("Other", [])
        whole = ctx.meta.get(_HELP_ALL_KEY)
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
    """Names of options in lines, not broken at hyphens."""
    return textwrap.fill(
        names, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[_HELP_ALL_KEY] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


@cache
def _titles() -> dict[str, str]:
    """The section of each option that has one, by its name."""
    return {
        field.option.key: (request.__doc__ or "").partition("\n")[0].rstrip(".")
        for request in _SECTIONS
        for field in option_fields(request)
    }


def _options_of(group: Group) -> tuple[inspect.Parameter, ...]:
    part = group if isinstance(group, OptionsOf) else OptionsOf(group)
    parameters = _parameters(part.request, part.parsed)  # type: ignore[arg-type]  # a class can be hashed
    return tuple(parameters[key] for key in part.keys or parameters)


@cache
def _parameters(request: type[Any], parsed: bool) -> dict[str, inspect.Parameter]:
    return {field.option.key: _parameter(field, parsed) for field in option_fields(request)}


def _parameter(field: OptionField, parsed: bool) -> inspect.Parameter:
    """The parameter of a command by which typer knows an option."""
    option = field.option
    kind: Any
    default: Any = None
    if field.type is bool or option.counted:
        kind, default = field.type, field.default
    elif field.many:
        kind = list[str if option.read else field.type] | None  # type: ignore[misc]
    elif issubclass(field.type, StrEnum):
        kind, default = field.type if field.default else field.type | None, field.default or None
    else:
        kind = (str if option.read and not parsed else field.type) | None
    notes = [option.help]
    notes += ["Can be repeated."] if field.many and not option.commas and "repeat" not in option.help.lower() else []
    notes += [f"[env: {option.variable}]"] if option.variable else []
    notes += [f"[default: {option.default}]"] if option.default else []
    shown = typer.Option(
        *option.names,
        help=" ".join(notes),
        metavar=option.metavar or None,
        count=option.counted,
        parser=parsed_by(option.read) if option.read and parsed else None,
        autocompletion=_COMPLETED.get(option.complete),
        show_default=not option.default and isinstance(default, StrEnum),
    )
    return inspect.Parameter(
        option.key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown]
    )


def parsed_by(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """`parse` for typer, which reports a ValueError as its own. Values that are no text were read already."""

    def read(text: Any) -> Any:
        try:
            return parse(text) if isinstance(text, str) else text
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return read


_COMPLETED: dict[str, Callable[[str], list[tuple[str, str]]]] = {
    "rule": complete_rule,
    "setting": complete_setting,
    "symptom": complete_symptom,
}


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
        more = [_help_all] if len(names & set(_titles()) - set(_FREQUENT)) > _FEW_OTHERS else []

        def run(**values: Any) -> R:
            given = {name: value for name, value in values.items() if name in names}
            rest = {name: value for name, value in values.items() if name not in names and name != _help_all.name}
            return command(given, **rest)

        # typer needs both: the signature for the defaults, the annotations for the types.
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [option.replace(kind=keyword) for option in (*own, *shared, *more)]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate
