"""A rule as its page declares it: metadata, typed parameters, log signatures and the name of a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from jsdoctor.model.finding import Impact, Severity

RESERVED_PREFIX = "JSD"
"""Codes with this prefix belong to jsdoctor; rules and policies that users add must use another."""


class RuleStatus(StrEnum):
    """Life cycle of a rule. Retired codes stay reserved for ever and are never evaluated."""

    PREVIEW = "preview"
    STABLE = "stable"
    RETIRED = "retired"


class Risk(StrEnum):
    """What a remedy can do to a running system."""

    SAFE = "safe"
    DISRUPTIVE = "disruptive"
    DESTRUCTIVE = "destructive"
    MANUAL = "manual"


class Unit(StrEnum):
    """Units a parameter may have. A `DURATION` is written as Go writes it (`90s`, `72h`) and kept in nanoseconds."""

    RATIO = "ratio"
    COUNT = "count"
    BYTES = "bytes"
    DURATION = "duration"
    PER_SECOND = "per_second"


class Param(msgspec.Struct, frozen=True):
    """One parameter of a rule. `default` is in `unit`; durations already in nanoseconds. None: not set, not judged."""

    name: str
    unit: Unit
    help: str
    default: float | int | None = None


class LineOrigin(StrEnum):
    """Who logs a line: a nats-server (it has the server's header), anything else, or either."""

    SERVER = "server"
    CLIENT = "client"
    ANY = "any"


class EndingsIf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Signatures that end an outage whose line has this text in one of its fields."""

    text: str
    by: tuple[str, ...]


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A log line that a rule matches: a literal to search for, and a portable pattern with positional groups.

    `contains` is part of every matching line. `pattern` is searched in the message (header and wrapping removed), one
    group for each name in `fields`; it may use only what Python's re and RE2 share. `levels` are those of nats-server;
    empty means any but DBG and TRC, whose lines quote what clients send. `since` and `before` bound the server versions
    with this wording. `examples` are whole lines as they were logged. `resolved_by` names signatures that end the
    outage that this one begins, if they are about the same subject; `resolved_if` has more of them, for some lines.
    """

    name: str
    contains: str
    pattern: str
    fields: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    source: LineOrigin = LineOrigin.SERVER
    since: str = ""
    before: str = ""
    examples: tuple[str, ...] = ()
    resolved_by: tuple[str, ...] = ()
    resolved_if: tuple[EndingsIf, ...] = ()

    @property
    def endings(self) -> tuple[str, ...]:
        """Every signature that may end it."""
        return (*self.resolved_by, *(name for more in self.resolved_if for name in more.by))

    def endings_of(self, fields: Iterable[str]) -> tuple[str, ...]:
        """The signatures that end it for a line with these fields."""
        values = tuple(fields)
        more = (more.by for more in self.resolved_if if any(more.text in value for value in values))
        return (*self.resolved_by, *(name for names in more for name in names))


class LineSubject(StrEnum):
    """Whom a finding on log lines is about.

    `ASSET`: the consumer, stream, account or server that the line names, else the server that logged it. `SERVER`: the
    server that logged it. `CLIENT`: the same as `ASSET`, where an application logged it the application.
    """

    ASSET = "asset"
    SERVER = "server"
    CLIENT = "client"


class LineFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finding that a page declares for lines of signatures, its own or those of other pages: one for each subject.

    `says` is the message; in it `{story}` stands for who logged the lines, how often and when, `{NAME}` for the values
    of a field. `severity` None is that of the rule. `at_least` names a parameter: with fewer lines of one server within
    ten minutes it is a note. `starts`: lines of a server's own starts and stops count as well.
    """

    signatures: tuple[str, ...]
    says: str
    subject: LineSubject = LineSubject.ASSET
    severity: Severity | None = None
    at_least: str = ""
    starts: bool = False


class Relation(StrEnum):
    """What a finding and the finding that explains it must have in common.

    `SAME`: the subject. `STREAM`: the stream, or a consumer of it. `RETAINED`: the stream, which keeps its messages
    until the consumer acknowledges them. `CONSUMER`: the cause is about a consumer of the stream. `SERVER`: a server
    that the effect is about, names, or depends on: the leader of its subject, or any member where it has no leader or
    no majority. `MEMBER`: any server that holds the subject. `ORIGIN`: the cause is about the stream that it copies.
    `REMOTE`: the origin is reached through a link between clusters. `ACCOUNT`: the account. `DOMAIN`: the servers that
    share one meta group. `MOMENT`: logs or captures date both to the same minutes.
    """

    SAME = "same"
    STREAM = "stream"
    RETAINED = "retained"
    CONSUMER = "consumer"
    SERVER = "server"
    MEMBER = "member"
    ORIGIN = "origin"
    REMOTE = "remote"
    ACCOUNT = "account"
    DOMAIN = "domain"
    MOMENT = "moment"


class Explanation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Findings of the rule `code` explain findings of the rule with this entry, if they have `link` in common."""

    code: str
    link: Relation


class RemedyRef(msgspec.Struct, frozen=True):
    """The remedy a rule names: an action of the closed set (`jsdoctor.remedy.registry`) and its risk."""

    action: str
    risk: Risk


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule page, parsed. `origin` is the file it came from; `body` its Markdown.

    `checks` names its predicates, one for each kind of evidence that can decide; most rules have one. `explained_by`
    lists the rules whose findings may be the cause of this one's, the most likely first. `impact` None: a risk. Of
    `lines`, the first that finds something on a subject is its finding.
    """

    code: str
    slug: str
    title: str
    checks: tuple[str, ...]
    severity: Severity
    status: RuleStatus = RuleStatus.STABLE
    failure_mode: str = ""
    params: Mapping[str, Param] = {}
    signatures: tuple[Signature, ...] = ()
    lines: tuple[LineFinding, ...] = ()
    remedy: RemedyRef | None = None
    impact: Impact | None = None
    explained_by: tuple[Explanation, ...] = ()
    body: str = ""
    origin: str = ""
