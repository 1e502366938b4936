"""The options that commands share beside those of evidence, which `jsdoctor.sources.request` has."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from jsdoctor.app.outputs import Color, OutputTarget
from jsdoctor.cli.completion import complete_rule, complete_setting, complete_symptom
from jsdoctor.model.finding import Severity
from jsdoctor.parse.configuration import RuleSetting
from jsdoctor.parse.duration import parse_positive_seconds
from jsdoctor.parse.option_values import parse_setting
from jsdoctor.render.formats import ReportFormat


def parsed_by(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """A reader of one value for typer, which also passes values that were read before."""

    def read(text: Any) -> Any:
        try:
            return parse(text) if isinstance(text, str) else text
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return read


positive_seconds = parsed_by(parse_positive_seconds)


def target(text: str | OutputTarget) -> OutputTarget:
    """An output as given, for typer: `FILE`, `-`, or either with `FORMAT=` before it."""
    if isinstance(text, OutputTarget):
        return text
    format_, equals, name = text.partition("=")
    if not (equals and format_ in set(ReportFormat)):
        format_, name = "", text
    if not name:
        raise typer.BadParameter("write it as FILE, FORMAT=FILE or -")
    if name != "-" and Path(name).is_dir():
        raise typer.BadParameter(f"{name} is a directory")
    return OutputTarget(format_, None if name == "-" else Path(name))


class DiagnosisFormat(StrEnum):
    """Formats that a diagnosis can be written in."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class CatalogueFormat(StrEnum):
    """Formats that the catalogue of rules can be written in."""

    TEXT = "text"
    JSON = "json"


BundleFile = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Bundle to write, a ZIP file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULE",
        help="Run only these rules: codes, prefixes or slugs, comma-separated.",
        autocompletion=complete_rule,
    ),
]
ExtendSelect = Annotated[
    list[str] | None,
    typer.Option("--extend-select", metavar="RULE", help="Run these rules in addition.", autocompletion=complete_rule),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULE", help="Skip these rules.", autocompletion=complete_rule),
]
Set = Annotated[
    list[RuleSetting] | None,
    typer.Option(
        "--set",
        parser=parsed_by(parse_setting),
        metavar="CODE.PARAM=VALUE",
        help="Set a rule parameter, e.g. JSD401.warn_pending=5000; overrides the configuration file.",
        autocompletion=complete_setting,
    ),
]
LogPaths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Files, directories, globs, or URIs such as s3://BUCKET/logs."),
]
AllFindings = Annotated[
    bool,
    typer.Option("--all-findings", help="With --manifest, also count findings that the change does not touch."),
]
Rules = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="DIR", help="Directory with custom rule pages.", file_okay=False),
]
FailOn = Annotated[
    Severity | None,
    typer.Option("--fail-on", help="Lowest severity that makes the exit code 1. [default: error]", show_default=False),
]
BaselineFile = Annotated[
    Path | None,
    typer.Option("--baseline", metavar="FILE", dir_okay=False, help="Ignore findings recorded in this baseline file."),
]
BaselinePath = Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, help="Baseline, a JSON file.")]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 even if there are findings.")]
AllowGaps = Annotated[bool, typer.Option("--allow-gaps", help="Exit 0 even if evidence is missing.")]
Format = Annotated[
    ReportFormat | None,
    typer.Option("--format", help="Format of the report. [default: as -o ends, else text]", show_default=False),
]
AnswerFormat = Annotated[
    DiagnosisFormat | None,
    typer.Option("--format", help="Format of the diagnosis. [default: as -o ends, else text]", show_default=False),
]
ListFormat = Annotated[CatalogueFormat, typer.Option("--format", help="Format of the list.")]
Output = Annotated[
    list[OutputTarget] | None,
    typer.Option(
        "--output",
        "-o",
        parser=target,
        metavar="[FORMAT=]FILE",
        help="Write the report there, in the format of its suffix; - is stdout. Repeat for several formats.",
    ),
]
MaxExamples = Annotated[
    int | None,
    typer.Option("--max-examples", min=0, metavar="N", help="Subjects shown per rule; 0 for all. [default: 5]"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Findings only, one line each.")]
QuietCapture = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, and no list of gaps.")]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose", "-v", count=True, show_default=False, help="Show evidence and every rule; -vv also shows passes."
    ),
]
ColorChoice = Annotated[Color, typer.Option("--color", help="When to use colours.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration file. [default: jsdoctor.toml or pyproject.toml]"),
]
Isolated = Annotated[bool, typer.Option("--isolated", help="Read no configuration file.")]
EnvironmentName = Annotated[
    str,
    typer.Option(
        "--environment",
        metavar="NAME",
        help="An [environments.NAME] of the configuration file. [default: JSDOCTOR_ENVIRONMENT]",
        show_default=False,
    ),
]
CheckFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Files, directories or - for stdin, recognised by content: bundles, logs, captures, manifests, replies.",
    ),
]
SymptomText = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TEXT]...", help="Error text, or the symptom in your words; - for stdin."),
]
ApiCode = Annotated[
    int | None, typer.Option("--code", metavar="N", min=1, help="err_code of a JetStream error, e.g. 10071.")
]
SymptomSlug = Annotated[
    str | None,
    typer.Option(
        "--symptom",
        metavar="SLUG",
        help="Symptom by name, e.g. consumer-stalled.",
        autocompletion=complete_symptom,
    ),
]
AboutStream = Annotated[str | None, typer.Option("--stream", metavar="NAME", help="Affected stream.")]
AboutConsumer = Annotated[
    str | None, typer.Option("--consumer", metavar="NAME", help="Affected consumer of that stream.")
]
ExpectedSeq = Annotated[
    int | None,
    typer.Option("--expected-seq", metavar="N", min=0, help="Last sequence that the refused publish expected."),
]
MsgId = Annotated[str | None, typer.Option("--msg-id", metavar="ID", help="Nats-Msg-Id of the refused publish.")]
ProbeSubject = Annotated[
    str | None,
    typer.Option(
        "--probe",
        metavar="SUBJECT",
        help="Show which stream captures this subject and whether it refuses the message; stores nothing, needs 2.11.",
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Open no connection: recognise the text, judge the files.")]
