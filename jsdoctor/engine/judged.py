"""Whether a report that does not mention a finding means that it is gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.report import RuleVerdict

_NOT_JUDGED = (Outcome.NOT_EVALUATED, Outcome.ERROR)


def was_judged(rule: Outcome | None, unknown: Collection[Subject], subject: Subject) -> bool:
    """Whether a rule has judged a subject. `rule` is the outcome of the rule, None if it was not run.

    `unknown` are the subjects that the rule could not judge, and those of evidence that was requested and is missing.
    """
    return rule is not None and rule not in _NOT_JUDGED and not set(unknown) & set(_holders(subject))


def of_what_was_read(outcome: Outcome, subjects: Mapping[Outcome, int]) -> Outcome:
    """The outcome of a rule in what was read. `subjects`: how many subjects ended in each outcome.

    A rule that is not evaluated only because there is more to read has judged the subjects that it passed.
    """
    passed = outcome is Outcome.NOT_EVALUATED and subjects.get(Outcome.PASS) and not subjects.get(outcome)
    return Outcome.PASS if passed else outcome


def passed_in_part(verdict: RuleVerdict) -> bool:
    """Whether a rule is not evaluated only because there is more to read than it passed."""
    return of_what_was_read(verdict.outcome, verdict.subjects) is not verdict.outcome


def is_undecided(outcome: Outcome) -> bool:
    """Whether a result means that its subject could not be judged."""
    return outcome in _NOT_JUDGED


def _holders(subject: Subject) -> tuple[Subject, ...]:
    """A subject and what must be seen to see it: a consumer is unseen where its stream is, or the whole cluster."""
    stream = Subject(kind="stream", name=subject.stream, account=subject.account) if subject.stream else subject
    account = Subject(kind="account", name=subject.account) if subject.account else subject
    return (subject, stream, account, Subject(kind="cluster"))
