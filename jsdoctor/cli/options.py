"""The options that commands share: names, environment variables and help as the `nats` CLI has them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jsdoctor.app.logs.engine import Engine
from jsdoctor.app.outputs import Color, OutputTarget
from jsdoctor.cli.completion import complete_rule, complete_setting, complete_symptom
from jsdoctor.cli.option_values import (
    Named,
    positive_seconds,
    scan_target,
    server_name,
    setting,
    spark_conf,
    timezone,
)
from jsdoctor.model.finding import Severity
from jsdoctor.model.stored import ScanTarget
from jsdoctor.parse.configuration import RuleSetting
from jsdoctor.render.formats import ReportFormat


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


def _text(*names: str, help: str, metavar: str, env: str | None = None) -> object:  # noqa: A002 - typer's own word
    shown = f"{help} [env: {env}]" if env else help
    return typer.Option(*names, help=shown, metavar=metavar, show_default=False)


# The environment variables are read by the layer that merges them with contexts, so typer must not read them too.
Server = Annotated[
    str | None, _text("--server", "-s", help="Server URLs, comma-separated.", metavar="URL", env="NATS_URL")
]
Context = Annotated[
    list[str] | None,
    _text("--context", help="nats context to use; repeat to add logins.", metavar="NAME", env="NATS_CONTEXT"),
]
User = Annotated[str | None, _text("--user", help="User name, or a token.", metavar="USER", env="NATS_USER")]
Password = Annotated[str | None, _text("--password", help="Password.", metavar="PASS", env="NATS_PASSWORD")]
Token = Annotated[str | None, _text("--token", help="Token.", metavar="TOKEN", env="NATS_TOKEN")]
Creds = Annotated[str | None, _text("--creds", help="Credentials file.", metavar="FILE", env="NATS_CREDS")]
Nkey = Annotated[str | None, _text("--nkey", help="File with an nkey seed.", metavar="FILE", env="NATS_NKEY")]
TlsCert = Annotated[str | None, _text("--tlscert", help="TLS client certificate.", metavar="FILE", env="NATS_CERT")]
TlsKey = Annotated[str | None, _text("--tlskey", help="TLS client key.", metavar="FILE", env="NATS_KEY")]
TlsCa = Annotated[str | None, _text("--tlsca", help="TLS certificate authorities.", metavar="FILE", env="NATS_CA")]
TlsFirst = Annotated[bool, typer.Option("--tlsfirst", help="Start TLS before the server sends INFO.")]
JsDomain = Annotated[str | None, _text("--js-domain", help="JetStream domain.", metavar="NAME")]
JsApiPrefix = Annotated[str | None, _text("--js-api-prefix", help="JetStream API prefix.", metavar="SUBJECT")]
NoContext = Annotated[bool, typer.Option("--no-context", help="Ignore the selected nats context.")]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        parser=positive_seconds,
        metavar="DURATION",
        help="Maximum wait for one response, e.g. 5s. [env: NATS_TIMEOUT] [default: 5s]",
        show_default=False,
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        min=1,
        metavar="N",
        help="Requests to NATS per second at most. [default: no limit]",
        show_default=False,
    ),
]
Monitor = Annotated[
    list[str] | None,
    typer.Option("--monitor", metavar="URL", help="HTTP monitoring address of a server. Can be repeated."),
]
Ntp = Annotated[
    list[str] | None,
    typer.Option("--ntp", metavar="HOST", help="NTP server to compare clocks with; three are best. Can be repeated."),
]
Scan = Annotated[
    list[ScanTarget] | None,
    typer.Option(
        "--scan",
        parser=scan_target,
        metavar="STREAM[:N]",
        help="Read headers of the newest N messages (default 200000) through a temporary consumer. Can be repeated.",
    ),
]
Digests = Annotated[
    bool,
    typer.Option("--digests", help="With --scan: compare the contents of messages that share an id."),
]
Host = Annotated[bool, typer.Option("--host", help="Look at the nats-server processes of this host, too (Linux).")]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples", min=1, metavar="N", help="Number of samples; rate-based rules need at least 2. [default: 2]"
    ),
]
Interval = Annotated[
    float | None,
    typer.Option("--interval", parser=positive_seconds, metavar="DURATION", help="Time between samples. [default: 2s]"),
]
Bundle = Annotated[
    Path | None,
    typer.Option("--bundle", metavar="FILE", help="Check a file written by jsdoctor capture; opens no connection."),
]
History = Annotated[
    Path | None,
    typer.Option(
        "--history", metavar="DIR", help="Directory of earlier bundles of the same deployment, for trends over hours."
    ),
]
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
        parser=setting,
        metavar="CODE.PARAM=VALUE",
        help="Set a rule parameter, e.g. JSD401.warn_pending=5000; overrides the configuration file.",
        autocompletion=complete_setting,
    ),
]
LogPaths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Files, directories, globs, or URIs such as s3://BUCKET/logs."),
]
Logs = Annotated[
    list[str] | None,
    typer.Option(
        "--logs",
        metavar="PATH",
        help="Logs to check, alone or with other evidence: file, directory, glob. Can be repeated.",
    ),
]
Manifest = Annotated[
    list[str] | None,
    typer.Option(
        "--manifest",
        metavar="PATH",
        help="Manifests to check: file, directory, glob or -; with -s or --bundle, check the change. Can be repeated.",
    ),
]
AllFindings = Annotated[
    bool,
    typer.Option("--all-findings", help="With --manifest, also count findings that the change does not touch."),
]
Pcap = Annotated[
    list[Path] | None,
    typer.Option(
        "--pcap",
        metavar="FILE",
        help="Packet captures (pcap, pcapng, gzip): file, directory, glob, pipe or -; repeat for both ends.",
    ),
]
LogEngine = Annotated[
    Engine, typer.Option("--engine", help="Log engine. auto: local processes, and Spark from 2 GiB of text.")
]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Spark cluster to read logs on, e.g. spark://host:7077.")
]
Remote = Annotated[
    str | None, typer.Option("--remote", metavar="URL", help="Spark Connect server, e.g. sc://host:15002.")
]
SparkConf = Annotated[
    list[Named] | None,
    typer.Option("--conf", parser=spark_conf, metavar="KEY=VALUE", help="Spark setting. Can be repeated."),
]
Timezone = Annotated[
    list[Named] | None,
    typer.Option(
        "--timezone",
        parser=timezone,
        metavar="[PATTERN=]ZONE",
        help="Time zone of timestamps without one, e.g. Europe/Berlin, optionally per file PATTERN. Can be repeated.",
    ),
]
ServerName = Annotated[
    list[Named] | None,
    typer.Option(
        "--server-name",
        parser=server_name,
        metavar="[PATTERN=]NAME",
        help="Name of the server that wrote logs without a name, optionally per file PATTERN. Can be repeated.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help="Read logs and history from here on: 2h (ago), or an ISO time (local zone)."
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Read logs and history up to here: 30m (ago), or an ISO time."),
]
Events = Annotated[
    str | None,
    typer.Option("--events", metavar="DIR", help="Write every event to this directory as Parquet, by date and server."),
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
ListenAddress = Annotated[
    str | None,
    typer.Option("--listen", metavar="HOST:PORT", help="Check repeatedly and serve Prometheus metrics at /metrics."),
]
Every = Annotated[
    float,
    typer.Option(
        "--every",
        parser=positive_seconds,
        metavar="DURATION",
        help="Time between checks of --listen.",
        show_default="60s",
    ),
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
    int, typer.Option("--verbose", "-v", count=True, help="Show evidence and every rule; -vv also shows passes.")
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
