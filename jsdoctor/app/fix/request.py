"""The request of `fix`, the remedies that the user chose, and the reading of a plan from its file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec

from jsdoctor.app.outputs import Color, parse_file
from jsdoctor.app.request import ColorChoice, ConfigurationRequest, JudgeRequest, QuietRequest
from jsdoctor.model.duration import parse_duration, parse_positive_seconds
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.option import option
from jsdoctor.model.plan import SCHEMA, Choice, Plan
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.rule import Risk
from jsdoctor.model.typed import decode_as
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.request import EvidenceRequest

_LEVELS = (Risk.SAFE, Risk.DISRUPTIVE, Risk.DESTRUCTIVE)
_NS_PER_S = 1_000_000_000
_EXAMPLE = "JSD303=stream.set_max_age,max_age=10m"


def parse_remedy(text: str) -> Choice:
    """`CODE[@SUBJECT]=ACTION[,KEY=VALUE]…` as a person writes it. Raises ValueError with an example."""
    code, equals, rest = text.partition("=")
    action, *pairs = rest.split(",")
    if not equals or not code.strip() or not action.strip():
        raise ValueError(f"{text!r} is no remedy; write CODE=ACTION,KEY=VALUE, for example {_EXAMPLE}")
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise ValueError(f"{pair!r} sets nothing; write KEY=VALUE, for example {_EXAMPLE}")
        values |= _value(key.strip().replace("-", "_"), value.strip())
    code, _, subject = code.partition("@")
    return Choice(code.strip().upper(), action.strip(), values, subject.strip())


_NAMES = {"group", "to", "into", "backup", "give_up", "unseen", "advisories"}
"""Keys whose values are names, which may look like a number or a duration."""


def _value(key: str, text: str) -> dict[str, Any]:
    """A number, a duration in whole seconds with `_s` after its key, or else the text, as names always are."""
    if key in _NAMES:
        return {key: text}
    try:
        return {key: int(text)}
    except ValueError:
        pass
    try:
        duration_ns = parse_duration(text)
    except ValueError:
        return {key: text}
    if duration_ns % _NS_PER_S:
        raise ValueError(f"{key}={text}: whole seconds only")
    return {f"{key}_s": duration_ns // _NS_PER_S}


class PlanFormat(StrEnum):
    """Formats that a plan, and how its steps ended, can be written in."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class Allow(StrEnum):
    """The most severe risk that may be taken without another prompt."""

    SAFE = "safe"
    DISRUPTIVE = "disruptive"
    DESTRUCTIVE = "destructive"


_Yes = Annotated[bool, option("--yes", help="Apply without confirmation. Required where there is no terminal.")]
_Format = Annotated[
    PlanFormat | None, option("--format", help="How to write the plan.", default="as -o ends, else text")
]


@dataclass(frozen=True, kw_only=True)
class FixRequest:
    """The options of `fix`. None: not given."""

    apply: Annotated[bool, option("--apply", help="Carry the plan out. Without it, nothing is changed.")] = False
    yes: _Yes = False
    allow: Annotated[
        Allow | None, option("--allow", help="The most severe risk that may be taken.", default="safe")
    ] = None
    journal: Annotated[
        Path | None, option("--journal", metavar="FILE", help="Where to keep what was there before each write.")
    ] = None
    resume: Annotated[bool, option("--resume", help="Go on with the plan of --journal, where it was interrupted.")] = (
        False
    )
    plan: Annotated[
        Path | None,
        option("--plan", metavar="FILE", help="Apply the plan that was written there as JSON; make none."),
    ] = None
    remedies: Annotated[
        tuple[Choice, ...],
        option(
            "--remedy",
            metavar="CODE[@SUBJECT]=ACTION[,KEY=VALUE]",
            help="What to do for a rule's findings, where its page leaves that to a person; repeat. docs/fix.md has"
            " all.",
            parse=parse_remedy,
        ),
    ] = ()
    steps: Annotated[
        tuple[str, ...],
        option("--step", metavar="N", help="Only these steps of the plan, comma-separated.", commas=True),
    ] = ()
    patience_s: Annotated[
        float | None,
        option(
            "--patience",
            metavar="DURATION",
            help="How long the effect of a step may take to show.",
            parse=parse_positive_seconds,
            default="30s, new replicas 10m",
        ),
    ] = None
    named_format: _Format = None
    output: Annotated[
        Path | None,
        option(*("--output", "-o"), metavar="FILE", help="Write the plan there, not to stdout.", parse=parse_file),
    ] = None
    judge: JudgeRequest = JudgeRequest()  # noqa: RUF009 - frozen, so one shared instance is safe
    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe

    @property
    def writes(self) -> bool:
        """Whether anything may be changed."""
        return self.apply or self.resume

    @property
    def format(self) -> PlanFormat:
        """The format that was named, else that of the file's name."""
        if self.named_format is not None:
            return self.named_format
        endings = {".json": PlanFormat.JSON, ".md": PlanFormat.MARKDOWN, ".html": PlanFormat.HTML}
        return endings.get(self.output.suffix.lower(), PlanFormat.TEXT) if self.output else PlanFormat.TEXT


@dataclass(frozen=True, kw_only=True)
class RollbackRequest(QuietRequest, ConfigurationRequest):
    """The journal to roll back, the login for it, and how the outcome is shown."""

    yes: _Yes = False
    format: _Format = None
    color: ColorChoice = Color.AUTO
    journal: Path = Path()
    connection: ConnectionOptions = ConnectionOptions()  # noqa: RUF009 - frozen, so one shared instance is safe


def allowed_up_to(risk: Allow | None) -> tuple[Risk, ...]:
    """A risk and all milder ones."""
    return _LEVELS[: _LEVELS.index(Risk(risk or Risk.SAFE)) + 1]


def check_options(request: FixRequest) -> None:
    """Raise UsageProblem if options contradict each other."""
    if request.resume and request.journal is None:
        raise UsageProblem("--resume goes on with a journal, and none is named", "add --journal FILE")
    if request.resume and (request.plan or request.remedies or request.output):
        raise UsageProblem("--resume carries out the plan of its journal", "leave --plan, --remedy and -o away")
    if request.plan and request.remedies:
        raise UsageProblem("--remedy makes a plan, --plan brings one", "leave one of them away")
    if not request.writes and (request.yes or request.journal or request.allow or request.steps or request.patience_s):
        raise UsageProblem("--yes, --journal, --allow, --step and --patience belong to --apply", "add --apply")


def parse_remedies(texts: Sequence[str]) -> tuple[Choice, ...]:
    """The choices in texts of `--remedy`. Raises UsageProblem."""
    try:
        return tuple(parse_remedy(text) for text in texts)
    except ValueError as error:
        raise UsageProblem(f"--remedy: {error}", "docs/fix.md lists the actions and their values") from None


def check_choices(choices: Sequence[Choice], actions: Collection[str], codes: Collection[str]) -> None:
    """Raises UsageProblem for an unknown action or rule."""
    for choice in choices:
        if choice.code not in codes:
            raise UsageProblem(
                f"--remedy: no rule is named {choice.code!r}{did_you_mean(choice.code, codes)}", "jsdoctor rules list"
            )
        if choice.action not in actions:
            raise UsageProblem(
                f"--remedy: no action is named {choice.action!r}{did_you_mean(choice.action, actions)}",
                "docs/fix.md lists the actions",
            )


def read_plan(path: Path) -> Plan:
    """A plan that was written before. Raises UsageProblem."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"cannot read the plan {path}: {error.strerror}", "check its name") from None
    hint = "give the file that jsdoctor fix --format json -o FILE wrote"
    try:
        plan = decode_as(content, Plan)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{path} is no plan: {error}", hint) from None
    if plan.schema != SCHEMA:
        raise UsageProblem(f"{path} is no plan of this version: its schema is {plan.schema!r}, not {SCHEMA!r}", hint)
    return plan
