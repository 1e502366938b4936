"""A remediation plan: ordered steps, each with its effect, what must hold before it, its proof and its inverse.

A plan is data (`jsdoctor.plan/v1`): it can be read in a change ticket, kept, and applied later from its file. What the
steps do when they run is the business of the operations in `jsdoctor.remedy`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk

SCHEMA = "jsdoctor.plan/v1"
MANUAL = "manual"
"""The operation of a step that only a person can take."""

Json = dict[str, Any]


class Choice(msgspec.Struct, frozen=True):
    """A person's decision: for findings of this rule take this action, with these values (`--remedy`).

    `subject` narrows it to one: `STREAM`, `STREAM/CONSUMER` or the name of whatever else it is; empty means all.
    """

    code: str
    action: str
    values: dict[str, Any] = {}
    subject: str = ""

    def fits(self, code: str, subject: Subject) -> bool:
        """Whether it is about this finding."""
        name = "/".join(part for part in (subject.stream, subject.name) if part)
        return self.code == code and self.subject in ("", name)


class Change(msgspec.Struct, frozen=True):
    """One key of a configuration, in the server's own units. `None` on either side: the key is not there."""

    key: str
    before: Any
    after: Any


class Precondition(msgspec.Struct, frozen=True):
    """What must hold right before the write: `name` is one of `jsdoctor.remedy.preconditions`, `text` is for people."""

    name: str
    text: str
    value: Any = None


class Request(msgspec.Struct, frozen=True):
    """One request of the JetStream API. `subject` without its prefix (`STREAM.UPDATE.ORDERS`), `payload` as JSON."""

    subject: str
    payload: Any = None


class StepProof(msgspec.Struct, frozen=True):
    """A rule that must no longer fail on a subject once the step has been taken."""

    code: str
    subject: Subject


class AssetLoss(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An asset whose only copy a step discards: the messages of a stream, or the position of a consumer.

    `messages` and `bytes` are the last known ones, as of `as_of`; None: never observed. For a consumer, `messages` is
    the stream sequence of its last delivery. `backup` is a verified backup of a stream of that name.
    """

    subject: Subject
    messages: int | None = None
    bytes: int | None = None
    as_of: datetime | None = None
    backup: str = ""

    @property
    def text(self) -> str:
        """For people: `stream ONE of account APP: 10 messages (640 bytes) as of 2026-11-22 13:45Z`."""
        if self.messages is None:
            known = "its number of messages is not known"
        elif self.subject.kind == "consumer":
            known = f"its position, message {self.messages:,}"
        else:
            known = f"{self.messages:,} messages ({self.bytes or 0:,} bytes)"
        if self.as_of:
            known += f" as of {self.as_of:%Y-%m-%d %H:%M}Z"
        return f"{self.subject.kind} {self.subject.label}: {known}"


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a plan.

    `action` is of the closed set in `jsdoctor.remedy.registry`, `operation` the registered implementation. `base`
    is the state that the step was planned on, as `read_state` of the operation shows it; `tolerates` lists, by key
    of the configuration, the values that other steps of this plan may have left there. `values` is what else the
    operation needs. `logins` has, by command, the login that it needs and that the run did not have. `requests` are
    what would be sent if nothing had changed since; `undo` takes it back, and an empty `inverse` means that nothing
    can. `needs` are ids of steps that must have succeeded before. `losses` name the assets that are lost for good.
    `patience_s` is the maximum time in seconds until the effect shows. `improvement` names what must improve
    (`jsdoctor.remedy.proof`), `better_when` is that for a person.
    """

    id: str = ""
    action: str
    operation: str
    subject: Subject
    risk: Risk
    effect: str
    findings: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    values: Json = {}
    base: Json = {}
    tolerates: dict[str, list[Any]] = {}
    preconditions: tuple[Precondition, ...] = ()
    commands: tuple[str, ...] = ()
    logins: dict[str, str] = {}
    requests: tuple[Request, ...] = ()
    proofs: tuple[StepProof, ...] = ()
    improvement: str = ""
    better_when: str = ""
    losses: tuple[AssetLoss, ...] = ()
    inverse: str = ""
    undo: tuple[Request, ...] = ()
    needs: tuple[str, ...] = ()
    patience_s: int = 30

    @property
    def is_manual(self) -> bool:
        """Whether a person has to take this step."""
        return self.operation == MANUAL


class UnplannedFinding(msgspec.Struct, frozen=True):
    """A finding for which no step was planned, and why."""

    code: str
    subject: Subject
    reason: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Steps in the order in which they are taken.

    `api_prefix` belongs before the subject of every request. `parameters` are the rule parameters that the findings
    were judged with (by code and name), so that the proof is judged alike.
    """

    schema: str = SCHEMA
    version: str
    created: datetime
    api_prefix: str = "$JS.API"
    headline: str = ""
    parameters: dict[str, dict[str, float | int | None]] = {}
    steps: tuple[Step, ...] = ()
    refused: tuple[UnplannedFinding, ...] = ()
