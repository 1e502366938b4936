"""A finding: the result of one rule for one subject, with the numbers and the evidence behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, Protocol

import msgspec


class Severity(StrEnum):
    """How bad a failed rule is, mildest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Position on the scale, 0 for info; compare ranks, not names."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class Impact(StrEnum):
    """What a finding means for the people who use the system, worst first. Reports are in this order."""

    DATA_LOST = "data_lost"
    PUBLISHERS_REFUSED = "publishers_refused"
    CONSUMERS_NOT_SERVED = "consumers_not_served"
    REDUNDANCY_LOST = "redundancy_lost"
    RISK = "risk"
    HYGIENE = "hygiene"

    @property
    def rank(self) -> int:
        """Position on the scale, 0 for lost data; compare ranks, not names."""
        return _IMPACTS[self]


_IMPACTS = {impact: rank for rank, impact in enumerate(Impact)}


class Outcome(StrEnum):
    """The outcome of one rule for one subject.

    Only `PASS` means that the rule was evaluated and the subject is healthy.
    """

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    NOT_EVALUATED = "not_evaluated"
    ERROR = "error"


class Confidence(StrEnum):
    """How sure a finding is: `HIGH` was read, `MEDIUM` was derived, `LOW` is a possibility to look into."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Subject(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a finding is about. `kind` is cluster, server, account, stream, consumer, flow, file or client."""

    kind: str
    name: str = ""
    account: str = ""
    stream: str = ""

    @property
    def label(self) -> str:
        """The subject as people write it: `ACCOUNT > STREAM > CONSUMER`, or a plain name."""
        parts = [part for part in (self.account, self.stream, self.name) if part]
        return " > ".join(parts) or self.kind


CLUSTER = Subject(kind="cluster")


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value as it was read: its source, its field, and its time by the clock of the server that sent it."""

    source: str
    path: str
    value: Any
    at: datetime | None = None


class Offer(msgspec.Struct, frozen=True):
    """The remedy that goes with a finding: an action of the closed set, its risk and the commands to type.

    `logins` has, by command, the login that it needs and that the run did not have.
    """

    action: str
    risk: str
    commands: tuple[str, ...] = ()
    logins: dict[str, str] = {}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check yields for one subject.

    `severity` and `impact` None mean the rule's own. `measured`, `threshold` and `uncertainty` are in `unit`.
    `remedy` holds the values that the rule's remedy action needs (for example `{"max_ack_pending": 2000}`); `advice` is
    what a person has to do first, in sentences, where the evidence shows a cause that no command removes.
    `unexplained`: it shows what no rule judged, so that the run is inconclusive. `seen`: what was seen may be a fault,
    and does not suffice to judge it.
    """

    subject: Subject
    message: str = ""
    outcome: Outcome = Outcome.FAIL
    severity: Severity | None = None
    impact: Impact | None = None
    confidence: Confidence = Confidence.HIGH
    measured: float | int | str | None = None
    threshold: float | int | str | None = None
    unit: str | None = None
    uncertainty: float | int | None = None
    evidence: tuple[Observation, ...] = ()
    remedy: dict[str, Any] = {}
    advice: str = ""
    unexplained: bool = False
    seen: bool = False
    how_to_get: str = ""
    first_seen: datetime | None = None
    last_seen: datetime | None = None


BY_HAND = {"action": "none"}
"""The remedy of a finding that no command fixes."""

_PASS = Outcome.PASS
"""A constant, because `Outcome.PASS` is a slow look-up, and a large deployment passes a million times."""


def failed(
    subject: Subject,
    message: str,
    *evidence: Observation,
    measured: tuple[float | str | None, float | str | None, str | None] = (None, None, None),
    uncertainty: float | None = None,
    severity: Severity | None = None,
    impact: Impact | None = None,
    confidence: Confidence = Confidence.HIGH,
    between: tuple[datetime | None, datetime | None] = (None, None),
    remedy: Mapping[str, Any] | None = None,
    advice: str = "",
    how_to_get: str = "",
    unexplained: bool = False,
) -> Finding:
    """The rule failed for this subject.

    `measured` is the value, its threshold and the unit of both; without a value, the threshold is dropped. `between`
    is when it was first and last seen.
    """
    value, threshold, unit = measured if measured[0] is not None else (None, None, None)
    first_seen, last_seen = between
    return Finding(
        subject=subject,
        message=message,
        severity=severity,
        impact=impact,
        confidence=confidence,
        measured=value,
        threshold=threshold,
        unit=unit,
        uncertainty=uncertainty,
        evidence=evidence,
        remedy=dict(remedy or {}),
        advice=advice,
        unexplained=unexplained,
        how_to_get=how_to_get,
        first_seen=first_seen,
        last_seen=last_seen,
    )


class _Observable(Protocol):
    def observed(self, path: str, value: object) -> Observation: ...


def shown(record: _Observable, *paths: str) -> Iterator[Observation]:
    """Fields of a record as evidence, by their paths: `shown(stream, "state.messages", "config.max_msgs")`."""
    return (record.observed(path, attrgetter(path)(record)) for path in paths)


def compared(first: _Observable, last: _Observable, *paths: str) -> Iterator[Observation]:
    """Fields of two readings as evidence: for each path the value of the first reading, then that of the last."""
    return (observation for path in paths for reading in (first, last) for observation in shown(reading, path))


def passed(subject: Subject) -> Finding:
    """The rule was evaluated and this subject is healthy."""
    return Finding(subject=subject, outcome=_PASS)


def unknown(subject: Subject, reason: str, how_to_get: str) -> Finding:
    """The rule could not judge this subject: `reason` says why, `how_to_get` what to do about it."""
    return Finding(subject=subject, outcome=Outcome.NOT_EVALUATED, message=reason, how_to_get=how_to_get)


def suspected(subject: Subject, reason: str, how_to_get: str) -> Finding:
    """What was seen of this subject may be a fault, and does not suffice to judge it: every report shows it."""
    return Finding(subject=subject, outcome=Outcome.NOT_EVALUATED, message=reason, how_to_get=how_to_get, seen=True)


def fingerprint(code: str, subject: Subject) -> str:
    """Identity of a finding over time: the rule code and the subject, never its numbers or its text."""
    from hashlib import sha256  # OpenSSL takes a hundredth of the time of a small run to load

    identity = "\x1f".join((code, subject.kind, subject.account, subject.stream, subject.name))
    return sha256(identity.encode(errors="surrogatepass")).hexdigest()[:16]
