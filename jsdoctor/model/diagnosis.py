"""A differential: for each cause of a symptom whether it is confirmed, ruled out or undecided, and what decides it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Rule
from jsdoctor.model.symptom import Symptom

SCHEMA: Final = "jsdoctor.diagnosis/v1"


class Verdict(StrEnum):
    """The verdict on one cause. `EXPLAINED`: the cause is present, and a confirmed cause explains it."""

    CONFIRMED = "confirmed"
    EXPLAINED = "explained"
    RULED_OUT = "ruled_out"
    UNDECIDED = "undecided"


class Narrowing(msgspec.Struct, frozen=True):
    """What the user narrowed the diagnosis to. Empty or None: not given."""

    stream: str = ""
    consumer: str = ""
    expected_seq: int | None = None
    msg_id: str = ""

    def touches(self, subject: Subject, accounts: frozenset[str] = frozenset()) -> bool:
        """Whether a finding about `subject` can be related to it. `accounts`: those that own the stream, if known."""
        if subject.account and accounts and subject.account not in accounts:
            return False
        stream = {"stream": subject.name, "consumer": subject.stream}.get(subject.kind, subject.stream)
        if self.stream and subject.kind in ("stream", "consumer") and stream != self.stream:
            return False
        return not (self.consumer and subject.kind == "consumer" and subject.name != self.consumer)

    def is_meant(self, subject: Subject) -> bool:
        """Whether a finding about `subject` is about the named asset itself, not only about what it depends on."""
        return bool(self.stream) and subject.kind in ("stream", "consumer") and self.touches(subject)


class Question(msgspec.Struct, frozen=True):
    """What to diagnose: the symptom, the input it was derived from (`by`), and what the user narrows it to.

    `codes` are the API errors that the input is of; empty: unknown.
    """

    symptom: Symptom
    by: str = ""
    narrowing: Narrowing = Narrowing()
    codes: frozenset[int] = frozenset()


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One cause with its verdict. `message` gives the reason; `results` are the findings that confirm it.

    `next_step` is what to do about a confirmed cause, or what decides an undecided one.
    """

    rule: Rule
    because: str
    verdict: Verdict
    message: str
    results: tuple[Result, ...] = ()
    evidence: tuple[Observation, ...] = ()
    next_step: str = ""


class NextStep(msgspec.Struct, frozen=True):
    """An action that decides causes, with the codes of these causes."""

    text: str
    decides: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The differential of a symptom.

    `next_step` decides most of the undecided causes; `notes` are printed before it.
    """

    question: Question
    causes: tuple[Cause, ...]
    next_step: NextStep | None = None
    notes: tuple[str, ...] = ()

    def with_verdict(self, verdict: Verdict) -> tuple[Cause, ...]:
        """The causes of that verdict, the most frequent first."""
        return tuple(cause for cause in self.causes if cause.verdict is verdict)
