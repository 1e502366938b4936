"""What a user asks a command to do: a class for each group of options, whose fields are its options.

What to read is in `jsdoctor.sources.request`; an option is one field here or there. See `jsdoctor.model.option`. The
first line of a class is the title of its section in the help of commands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from jsdoctor.app.outputs import Color, OutputTarget, parse_target, resolve
from jsdoctor.configuration.file import RuleSetting
from jsdoctor.configuration.option_values import parse_setting, parse_size
from jsdoctor.model.capacity import StorageType
from jsdoctor.model.duration import parse_positive_seconds
from jsdoctor.model.finding import Severity
from jsdoctor.model.harm import Acceptance
from jsdoctor.model.option import option
from jsdoctor.model.release import release
from jsdoctor.render.formats import ReportFormat

ENVIRONMENT_VARIABLE = "JSDOCTOR_ENVIRONMENT"
_HIGHEST_PORT = 65_535
_RELEASE_PARTS = 3
"""How many numbers a release has, as in 2.12.8."""

ColorChoice = Annotated[Color, option("--color", help="When to use colours.")]
Output = Annotated[
    tuple[OutputTarget, ...],
    option(
        "--output",
        "-o",
        metavar="[FORMAT=]FILE",
        help="Write the report there, in the format of its suffix; - is stdout. Repeat for several formats.",
        parse=parse_target,
    ),
]
FailOn = Annotated[
    Severity | None, option("--fail-on", help="Lowest severity that makes the exit code 1.", default="error")
]


@dataclass(frozen=True, kw_only=True)
class ConfigurationRequest:
    """Which configuration file, and which environment of it."""

    config: Annotated[
        Path | None,
        option("--config", metavar="FILE", help="Configuration file.", default="jsdoctor.toml or pyproject.toml"),
    ] = None
    isolated: Annotated[bool, option("--isolated", help="Read no configuration file.")] = False
    environment: Annotated[
        str,
        option(
            "--environment",
            metavar="NAME",
            help="An [environments.NAME] of the configuration file.",
            default=ENVIRONMENT_VARIABLE,
        ),
    ] = ""

    @property
    def configuration(self) -> ConfigurationRequest:
        """These options alone."""
        return ConfigurationRequest(config=self.config, isolated=self.isolated, environment=self.environment)


@dataclass(frozen=True, kw_only=True)
class QuietRequest:
    """How much is said on stderr."""

    quiet: Annotated[bool, option("--quiet", "-q", help="No progress, and no list of gaps.")] = False


@dataclass(frozen=True, kw_only=True)
class WrittenRequest:
    """Where the result of a command goes. `formats` are those of the command, `format` the one of `--format`."""

    output: Output = ()
    format: StrEnum | None = None
    formats: ClassVar[type[StrEnum]]

    @property
    def outputs(self) -> tuple[OutputTarget, ...]:
        """Each output with its format. Raises `UsageProblem`."""
        return resolve(self.output, self.format, self.formats)


@dataclass(frozen=True, kw_only=True)
class OutputRequest(WrittenRequest):
    """Where the result of a command goes, and how it looks."""

    quiet: Annotated[bool, option("--quiet", "-q", help="Findings only, one line each.")] = False
    verbose: Annotated[
        int, option("--verbose", "-v", help="Show evidence and every rule; -vv also shows passes.", counted=True)
    ] = 0
    color: ColorChoice = Color.AUTO


@dataclass(frozen=True, kw_only=True)
class RuleRequest:
    """Which rules judge, with which parameters."""

    select: Annotated[
        tuple[str, ...],
        option(
            "--select",
            metavar="RULE",
            help="Run only these rules: codes, prefixes or slugs, comma-separated.",
            commas=True,
            complete="rule",
        ),
    ] = ()
    extend_select: Annotated[
        tuple[str, ...],
        option("--extend-select", metavar="RULE", help="Run these rules in addition.", commas=True, complete="rule"),
    ] = ()
    ignore: Annotated[
        tuple[str, ...], option("--ignore", metavar="RULE", help="Skip these rules.", commas=True, complete="rule")
    ] = ()
    rule_settings: Annotated[
        tuple[RuleSetting, ...],
        option(
            "--set",
            metavar="CODE.PARAM=VALUE",
            help="Set a rule parameter, e.g. JSD401.warn_pending=5000; overrides the configuration file.",
            parse=parse_setting,
            complete="setting",
        ),
    ] = ()
    rules: Annotated[tuple[Path, ...], option("--rules", metavar="DIR", help="Directory with custom rule pages.")] = ()


@dataclass(frozen=True, kw_only=True)
class ReportRequest(OutputRequest):
    """What becomes of the result."""

    fail_on: FailOn = None
    baseline: Annotated[
        Path | None, option("--baseline", metavar="FILE", help="Ignore findings recorded in this baseline file.")
    ] = None
    exit_zero: Annotated[bool, option("--exit-zero", help="Exit 0 even if there are findings.")] = False
    allow_gaps: Annotated[bool, option("--allow-gaps", help="Exit 0 even if evidence is missing.")] = False
    format: Annotated[
        ReportFormat | None, option("--format", help="Format of the report.", default="as -o ends, else text")
    ] = None
    max_examples: Annotated[
        int | None,
        option("--max-examples", metavar="N", help="Subjects shown per rule; 0 for all.", least=0, default="5"),
    ] = None

    formats = ReportFormat


@dataclass(frozen=True, kw_only=True)
class ChangeRequest:
    """What counts of a change, and of a difference."""

    all_findings: Annotated[
        bool, option("--all-findings", help="With --manifest, also count findings that the change does not touch.")
    ] = False
    drift: Annotated[
        bool, option("--drift", help="With --manifest, exit with 1 if the deployment differs from it.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class JudgeRequest(RuleRequest, ReportRequest, ChangeRequest, ConfigurationRequest):
    """The options of a command that judges."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))


class DiagnosisFormat(StrEnum):
    """Formats that a diagnosis can be written in."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


@dataclass(frozen=True, kw_only=True)
class SymptomRequest:
    """The symptom, and what it is about."""

    code: Annotated[
        int | None,
        option("--code", metavar="N", help="err_code of a JetStream error, e.g. 10071.", least=1),
    ] = None
    symptom: Annotated[
        str,
        option("--symptom", metavar="SLUG", help="Symptom by name, e.g. consumer-stalled.", complete="symptom"),
    ] = ""
    stream: Annotated[str, option("--stream", metavar="NAME", help="Affected stream.")] = ""
    consumer: Annotated[str, option("--consumer", metavar="NAME", help="Affected consumer of that stream.")] = ""
    expected_seq: Annotated[
        int | None,
        option("--expected-seq", metavar="N", help="Last sequence that the refused publish expected.", least=0),
    ] = None
    msg_id: Annotated[str, option("--msg-id", metavar="ID", help="Nats-Msg-Id of the refused publish.")] = ""
    probe: Annotated[
        str,
        option(
            "--probe",
            metavar="SUBJECT",
            help="Show which stream captures this subject and whether it refuses the message; stores nothing,"
            " needs 2.11.",
        ),
    ] = ""
    offline: Annotated[bool, option("--offline", help="Open no connection: recognise the text, judge the files.")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class AnswerRequest(OutputRequest):
    """What becomes of a diagnosis."""

    format: Annotated[
        DiagnosisFormat | None,
        option("--format", help="Format of the diagnosis.", default="as -o ends, else text"),
    ] = None

    formats = DiagnosisFormat


def parse_release(text: str) -> str:
    """A release of nats-server, as `2.12.8` or `v2.12.8`. Raises ValueError."""
    if len(release(text.removeprefix("v"))) != _RELEASE_PARTS:
        raise ValueError("write it as 2.12.8")
    return text.removeprefix("v")


class PreflightFormat(StrEnum):
    """Formats that a preflight can be written in."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, kw_only=True)
class StopRequest(OutputRequest, ConfigurationRequest):
    """Which servers are taken down, or what they are to run."""

    without: Annotated[
        tuple[str, ...],
        option(
            "--without",
            metavar="SERVER",
            help="Server to take down: NAME, tag:TAG or cluster:NAME. Can be repeated; all go down together.",
            commas=True,
        ),
    ] = ()
    each: Annotated[bool, option("--each", help="Judge every server in turn, beside those of --without.")] = False
    target: Annotated[
        str,
        option(
            "--target",
            metavar="RELEASE",
            help="Judge running this release of nats-server on every server, newer or older.",
            parse=parse_release,
        ),
    ] = ""
    accepted: Annotated[
        tuple[Acceptance, ...],
        option(
            "--accept",
            help="Obstacle that does not count. unavailable: what pauses; loss: what is lost; defects: of the release.",
        ),
    ] = ()
    wait_s: Annotated[
        float,
        option(
            "--wait",
            metavar="DURATION",
            help="Collect again for so long while only time stands in the way: a server comes back,"
            " a member catches up.",
            parse=parse_positive_seconds,
        ),
    ] = 0.0
    quiet: Annotated[bool, option("--quiet", "-q", help="Verdicts only, one line each.")] = False
    verbose: Annotated[int, option("--verbose", "-v", help="Show every name.", counted=True)] = 0
    format: Annotated[
        PreflightFormat | None,
        option("--format", help="Format of the result.", default="as -o ends, else text"),
    ] = None

    formats = PreflightFormat


class WhereFormat(StrEnum):
    """Formats that places can be written in."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, kw_only=True)
class WhereOptions(OutputRequest, ConfigurationRequest):
    """How places are written."""

    quiet: Annotated[bool, option("--quiet", "-q", help="One line for each name.")] = False
    verbose: Annotated[int, option("--verbose", "-v", help="Show everything that was not seen.", counted=True)] = 0
    format: Annotated[
        WhereFormat | None, option("--format", help="Format of the result.", default="as -o ends, else text")
    ] = None

    formats = WhereFormat


@dataclass(frozen=True, kw_only=True)
class CapacityOptions(WhereOptions):
    """The streams for which room is looked for, and how the result is written."""

    size: Annotated[
        int,
        option(
            "--size", metavar="SIZE", help="Look for room for streams with this max_bytes: 10GiB.", parse=parse_size
        ),
    ] = 0
    replicas: Annotated[
        int, option("--replicas", metavar="N", help="Replicas of each of them.", least=1, default="1")
    ] = 1
    streams: Annotated[int, option("--streams", metavar="N", help="How many of them.", least=1, default="1")] = 1
    storage: Annotated[StorageType, option("--storage", help="Where they are stored.")] = StorageType.FILE
    tags: Annotated[
        tuple[str, ...],
        option("--tag", metavar="TAG", help="Tag of their servers. Can be repeated.", commas=True),
    ] = ()
    quiet: Annotated[bool, option("--quiet", "-q", help="Only space and growth.")] = False
    verbose: Annotated[
        int, option("--verbose", "-v", help="Show every stream, and everything that was not seen.", counted=True)
    ] = 0


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int


def parse_address(text: str) -> Address:
    """`HOST:PORT`, or a port of this machine alone. Raises ValueError for anything else."""
    host, colon, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= _HIGHEST_PORT) or (colon and not host):
        raise ValueError("write HOST:PORT, e.g. 127.0.0.1:9855; 0.0.0.0:9855 for all addresses")
    return Address(host.strip("[]") or "127.0.0.1", int(port))


_METRICS = Address("127.0.0.1", 9855)


@dataclass(frozen=True, kw_only=True)
class ListenRequest:
    """Where metrics are served, and the time between checks."""

    address: Annotated[
        Address,
        option(
            "--listen",
            metavar="HOST:PORT",
            help="Address of the metrics, which are at /metrics.",
            parse=parse_address,
            default="127.0.0.1:9855",
        ),
    ] = _METRICS
    every_s: Annotated[
        float,
        option("--every", metavar="DURATION", help="Time between checks.", parse=parse_positive_seconds, default="60s"),
    ] = 60.0


class ComparisonFormat(StrEnum):
    """Formats that a comparison of two reports can be written in."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


@dataclass(frozen=True, kw_only=True)
class CompareRequest(WrittenRequest):
    """What becomes of a comparison."""

    format: Annotated[
        ComparisonFormat | None,
        option("--format", help="Format of the comparison.", default="as -o ends, else text"),
    ] = None
    fail_on: FailOn = None
    max_examples: Annotated[
        int, option("--max-examples", metavar="N", help="Findings per list; 0 for all.", least=0, default="20")
    ] = 20
    color: ColorChoice = Color.AUTO

    formats = ComparisonFormat
