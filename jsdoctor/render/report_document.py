"""What `jsdoctor.report/v1` contains: the types that a JSON report is made of, and that its schema is generated from.

Keys may be added to v1; a key that changes its meaning or is removed makes a v2. `tools.schemas` writes
`docs/schema`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jsdoctor.model.change import ChangeAction, FieldChange
from jsdoctor.model.finding import Confidence, Impact, Outcome, Severity
from jsdoctor.model.report import SOURCE_KINDS
from jsdoctor.model.rule import Relation, Risk
from jsdoctor.model.topology import Domain
from jsdoctor.model.traffic_summary import NamedCount, TrafficSummary


def _one_of(*values: str) -> Meta:
    return Meta(extra_json_schema={"enum": list(values)})


Moment = Annotated[
    str,
    Meta(
        description="RFC 3339, always UTC",
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$",
    ),
]
Number = Annotated[int, Meta(ge=0)]
Code = Annotated[str, Meta(pattern="^[A-Z]{2,8}[0-9]{3,4}$")]
Slug = Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
Version = Annotated[str, Meta(min_length=1, description="Version of jsdoctor that wrote it")]
Fingerprint = Annotated[
    str, Meta(pattern="^[0-9a-f]{16}$", description="Identity over time: the code and the subject, nothing else")
]


class JsonObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a JSON document. All of its keys are always present."""


class SubjectDocument(JsonObject, frozen=True, kw_only=True):
    """What a result is about. A name that does not apply is an empty string."""

    kind: Annotated[
        str, Meta(min_length=1, description="cluster, server, account, stream, consumer, flow, file or client")
    ]
    name: str
    account: str
    stream: Annotated[str, Meta(description="The stream of a consumer")]


class SourceDocument(JsonObject, frozen=True, kw_only=True):
    """Where evidence came from."""

    kind: Annotated[str, _one_of(*SOURCE_KINDS)]
    name: str
    collected_at: Moment


class ObservationDocument(JsonObject, frozen=True, kw_only=True):
    """A value that was read."""

    source: str
    path: str
    value: Annotated[Any, Meta(description="As it was read, of any type")]
    at: Moment | None


class RemedyDocument(JsonObject, frozen=True, kw_only=True):
    """The remedy that is offered for a finding."""

    action: Annotated[str, Meta(min_length=1)]
    risk: Annotated[str, _one_of(*Risk)]
    commands: tuple[str, ...]
    logins: Annotated[
        dict[str, str], Meta(description="By command, the login that it needs and that the run did not have")
    ]


class SuppressionDocument(JsonObject, frozen=True, kw_only=True):
    """Why a finding does not count."""

    kind: Annotated[str, _one_of("waiver", "baseline", "existing")]
    reason: str
    expires: Annotated[str, Meta(description="Last day of a waiver", extra_json_schema={"format": "date"})] | None


class ResultDocument(JsonObject, frozen=True, kw_only=True):
    """What a rule found on one subject."""

    code: Code
    slug: Slug
    outcome: Outcome
    severity: Severity
    confidence: Confidence
    subject: SubjectDocument
    message: str
    advice: Annotated[
        str, Meta(description="What a person has to do first, where no command removes the cause. Else empty.")
    ]
    how_to_get: Annotated[
        str, Meta(description="For a result that could not be evaluated: how to get the evidence. Else empty.")
    ]
    seen: Annotated[
        bool, Meta(description="For a result that could not be evaluated: what was seen of the subject may be a fault")
    ]
    measured: Annotated[float | int | str | None, Meta(description="In `unit`")]
    threshold: Annotated[float | int | str | None, Meta(description="In `unit`")]
    unit: Annotated[
        str | None, Meta(description="For example ratio, count, bytes, per_second or duration (nanoseconds)")
    ]
    uncertainty: Annotated[
        float | int | None, Meta(description="In `unit`: the measured value is right within plus or minus this much")
    ]
    evidence: tuple[ObservationDocument, ...]
    remedy: RemedyDocument | None
    first_seen: Moment | None
    last_seen: Moment | None
    suppressed: Annotated[
        SuppressionDocument | None, Meta(description="Why this finding does not count; null where it does")
    ]
    fingerprint: Fingerprint


class ReferenceDocument(JsonObject, frozen=True, kw_only=True):
    """A finding, which `results` holds in full."""

    code: Code
    slug: Slug
    severity: Severity
    impact: Impact
    subject: SubjectDocument
    fingerprint: Fingerprint


class ConsequenceDocument(ReferenceDocument, frozen=True, kw_only=True):
    """A finding that another one of its incident explains."""

    explained_by: Annotated[str, Meta(description="Fingerprint of the finding that explains it")]
    link: Relation
    evidence: Annotated[str, Meta(description="What the two findings have in common, in words")]


class IncidentDocument(JsonObject, frozen=True, kw_only=True):
    """Findings with one cause."""

    severity: Annotated[Severity, Meta(description="The worst of its findings")]
    impact: Annotated[Impact, Meta(description="The worst of its findings")]
    summary: Annotated[str, Meta(description="What is wrong, in one line")]
    first_command: Annotated[str, Meta(description="What to type first; empty where the rule's page must be read")]
    causes: Annotated[
        tuple[ReferenceDocument, ...],
        Meta(min_length=1, description="The cause; several findings where they are alike but for the subject"),
    ]
    consequences: tuple[ConsequenceDocument, ...]


class OutcomeCounts(JsonObject, frozen=True, kw_only=True, rename={"passed": "pass"}):
    """How many ended in each outcome."""

    passed: Number
    fail: Number
    not_applicable: Number
    not_evaluated: Number
    error: Number


class SeverityCounts(JsonObject, frozen=True, kw_only=True):
    """How many findings there are of each severity."""

    critical: Number
    error: Number
    warning: Number
    info: Number


class RuleDocument(JsonObject, frozen=True, kw_only=True):
    """What became of one rule."""

    code: Code
    slug: Slug
    outcome: Annotated[Outcome, Meta(description="The worst outcome of its subjects")]
    subjects: OutcomeCounts
    reason: Annotated[str, Meta(description="Why it was not evaluated or failed to run")]
    how_to_get: str
    page: Annotated[str, Meta(description="Address of its page; empty without `docs-url` in the configuration")]


class GapDocument(JsonObject, frozen=True, kw_only=True):
    """Evidence that is missing."""

    kind: Annotated[str, Meta(min_length=1)]
    subject: SubjectDocument
    reason: str
    how_to_get: str
    requested: Annotated[
        bool, Meta(description="Whether it was requested, by an option or by naming a rule that needs it")
    ]


class ChangeStepDocument(JsonObject, frozen=True, kw_only=True):
    """One stream or consumer that the manifests change."""

    subject: SubjectDocument
    action: ChangeAction
    file: str
    line: Annotated[int, Meta(ge=1)]
    fields: tuple[FieldChange, ...]
    messages: Annotated[int | None, Meta(description="What the stream stores now; null: not known, or a consumer")]
    at_stake: Annotated[str, Meta(description="Which messages the step deletes, in words; empty: none")]
    reason: Annotated[str, Meta(description="Why the step has its place, or why its action is unclear")]


class ChangeDocument(JsonObject, frozen=True, kw_only=True):
    """What manifests change in the deployment beside them."""

    steps: Annotated[tuple[ChangeStepDocument, ...], Meta(description="In the order to apply them")]
    unchanged: Number
    undeclared: Annotated[
        tuple[SubjectDocument, ...],
        Meta(description="Deployed streams, and durable consumers of declared streams, that no manifest has"),
    ]
    incomplete: Annotated[str, Meta(description="Why there may be more undeclared ones; empty: the list is complete")]


class DeploymentDocument(JsonObject, frozen=True, kw_only=True):
    """What deployment was looked at."""

    summary: Annotated[str, Meta(description="The same in one line, as in the text report")]
    domains: tuple[Domain, ...]
    uses: Annotated[
        tuple[NamedCount, ...],
        Meta(description="How many streams have each use that their names or configuration show, such as `work queue`"),
    ]
    leaf_connections: Annotated[int, Meta(ge=0, description="Leaf nodes that are connected to hubs")]
    servers_without_jetstream: Number
    mqtt: Annotated[bool, Meta(description="Whether a server listens for MQTT")]
    websocket: Annotated[bool, Meta(description="Whether a server listens for WebSocket")]


class SummaryDocument(JsonObject, frozen=True, kw_only=True):
    """The report in numbers."""

    headline: Annotated[str, Meta(description="The checked deployment, in words")]
    rules: Annotated[OutcomeCounts, Meta(description="How many rules ended in each outcome")]
    subjects: Annotated[OutcomeCounts, Meta(description="How many pairs of rule and subject ended in each outcome")]
    findings: SeverityCounts
    suppressed: Annotated[int, Meta(ge=0, description="Findings that do not count, in none of the above")]


class ReportDocument(JsonObject, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """What `jsdoctor check --format json` writes."""

    schema_name: Literal["jsdoctor.report/v1"]
    jsdoctor: Version
    started: Moment
    finished: Moment
    sources: tuple[SourceDocument, ...]
    deployment: Annotated[
        DeploymentDocument | None,
        Meta(description="Null without the system account or monitoring. Reports of earlier versions do not have it."),
    ]
    change: Annotated[
        ChangeDocument | None,
        Meta(
            description="Null unless manifests and a deployment were given. Reports of earlier versions do not have it."
        ),
    ]
    incidents: Annotated[
        tuple[IncidentDocument, ...],
        Meta(
            description="The findings that count, grouped by cause, the worst impact first. "
            "Each of them is in exactly one incident."
        ),
    ]
    results: Annotated[
        tuple[ResultDocument, ...],
        Meta(
            description="Failed, failed to run and not evaluated, one per rule and subject; passes only where they "
            "were requested. Worst severity first, then by code and subject."
        ),
    ]
    rules: Annotated[tuple[RuleDocument, ...], Meta(description="What became of every rule that was selected, by code")]
    gaps: Annotated[
        tuple[GapDocument, ...],
        Meta(description="What could not be seen. Those that were requested come first and make a run inconclusive."),
    ]
    summary: SummaryDocument
    traffic: Annotated[
        tuple[TrafficSummary, ...], Meta(description="What captures show of NATS, also when nothing is wrong")
    ]
