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
    """What the evidence says of one cause. `EXPLAINED`: it is there, and a confirmed one is why."""

    CONFIRMED = "confirmed"
    EXPLAINED = "explained"
    RULED_OUT = "ruled_out"
    UNDECIDED = "undecided"


class Narrowing(msgspec.Struct, frozen=True):
    """What the person says it is about. Empty or None: not said."""

    stream: str = ""
    consumer: str = ""
    expected_seq: int | None = None
    msg_id: str = ""

    def touches(self, subject: Subject, accounts: frozenset[str] = frozenset()) -> bool:
        """Whether a finding about `subject` can have to do with it. `accounts`: those that own the stream, if known."""
        if subject.account and accounts and subject.account not in accounts:
            return False
        stream = {"stream": subject.name, "consumer": subject.stream}.get(subject.kind, subject.stream)
        if self.stream and subject.kind in ("stream", "consumer") and stream != self.stream:
            return False
        return not (self.consumer and subject.kind == "consumer" and subject.name != self.consumer)

    def is_meant(self, subject: Subject) -> bool:
        """Whether a finding about `subject` is about the very thing, not only about what it stands on."""
        return bool(self.stream) and subject.kind in ("stream", "consumer") and self.touches(subject)


class Question(msgspec.Struct, frozen=True):
    """What is to be diagnosed: the symptom, what told it (`by`), and what the person narrows it to."""

    symptom: Symptom
    by: str = ""
    narrowing: Narrowing = Narrowing()


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One cause with its verdict. `message` says why; `results` are the findings that confirm it.

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
    """Something to do that decides causes, the codes of which it names."""

    text: str
    decides: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The differential of a symptom. `next_step` is what decides most of what is undecided; `notes` go before it."""

    question: Question
    causes: tuple[Cause, ...]
    next_step: NextStep | None = None
    notes: tuple[str, ...] = ()

    def with_verdict(self, verdict: Verdict) -> tuple[Cause, ...]:
        """The causes of that verdict, the most frequent first."""
        return tuple(cause for cause in self.causes if cause.verdict is verdict)
