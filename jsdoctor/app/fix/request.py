"""The request of `fix`, the remedies that the user chose, and the reading of a plan from its file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from jsdoctor.app.judging import JudgeRequest
from jsdoctor.app.outputs import PlanFormat
from jsdoctor.collect.connect.options import ConnectionOptions
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.plan import SCHEMA, Plan
from jsdoctor.model.rule import Risk
from jsdoctor.model.typed import decode_as
from jsdoctor.parse.duration import parse_duration
from jsdoctor.remedy.plan import Choice
from jsdoctor.sources.request import EvidenceRequest

_LEVELS = (Risk.SAFE, Risk.DISRUPTIVE, Risk.DESTRUCTIVE)
_DURATION_S = 1_000_000_000
_EXAMPLE = "JSD303=stream.set_max_age,max_age=10m"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRequest:
    """The options of `fix`. None: not given."""

    judge: JudgeRequest
    wanted: EvidenceRequest
    format: PlanFormat = PlanFormat.TEXT
    output: Path | None = None
    plan: Path | None = None
    remedies: tuple[Choice, ...] = ()
    steps: tuple[str, ...] = ()
    apply: bool = False
    resume: bool = False
    yes: bool = False
    allow: Risk | None = None
    journal: Path | None = None
    patience_s: float | None = None

    @property
    def writes(self) -> bool:
        """Whether anything may be changed."""
        return self.apply or self.resume


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """The journal to roll back, and the login for it."""

    journal: Path
    connection: ConnectionOptions
    config: Path | None = None
    isolated: bool = False
    environment: str = ""


def allowed_up_to(risk: Risk | None) -> tuple[Risk, ...]:
    """A risk and all milder ones."""
    return _LEVELS[: _LEVELS.index(risk or Risk.SAFE) + 1]


def check_options(request: FixRequest) -> None:
    """Raises UsageProblem where options contradict each other."""
    if request.resume and request.journal is None:
        raise UsageProblem("--resume goes on with a journal, and none is named", "add --journal FILE")
    if request.resume and (request.plan or request.remedies or request.output):
        raise UsageProblem("--resume carries out the plan of its journal", "leave --plan, --remedy and -o away")
    if request.plan and request.remedies:
        raise UsageProblem("--remedy makes a plan, --plan brings one", "leave one of them away")
    if not request.writes and (request.yes or request.journal or request.allow or request.steps or request.patience_s):
        raise UsageProblem("--yes, --journal, --allow, --step and --patience belong to --apply", "add --apply")


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


def parse_remedies(texts: Sequence[str]) -> tuple[Choice, ...]:
    """Several of them. Raises UsageProblem."""
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


def _value(key: str, text: str) -> dict[str, Any]:
    """Digits are a number; a duration is kept in whole seconds under the key with `_s`, as the actions want it."""
    try:
        return {key: int(text)}
    except ValueError:
        pass
    try:
        duration_ns = parse_duration(text)
    except ValueError:
        return {key: text}
    if duration_ns % _DURATION_S:
        raise ValueError(f"{key}={text}: whole seconds only")
    return {f"{key}_s": duration_ns // _DURATION_S}
