"""The types of `jsdoctor.diagnosis/v1`, as `report_document` has those of reports."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from jsdoctor.model.diagnosis import Narrowing, NextStep, Verdict
from jsdoctor.render.report_document import (
    Code,
    GapDocument,
    JsonObject,
    Moment,
    ObservationDocument,
    ResultDocument,
    Slug,
    SourceDocument,
    Version,
)


class ApiErrorDocument(JsonObject, frozen=True, kw_only=True):
    """An error of the JetStream API."""

    code: Annotated[int, Meta(description="The err_code")]
    status: int
    name: Annotated[str, Meta(description="Its name in nats-server")]
    text: Annotated[str, Meta(description="The server fills in what is in braces")]
    since: Annotated[str, Meta(description="First release with it; empty for 2.10.0 and before")]


class OtherSymptomDocument(JsonObject, frozen=True, kw_only=True):
    """A symptom that the text could mean, too."""

    symptom: Slug
    recognised_by: str
    shown_by: Annotated[str, Meta(description="The observation that separates it from the others")]


class CauseDocument(JsonObject, frozen=True, kw_only=True):
    """A documented cause of the symptom."""

    code: Code
    slug: Slug
    because: Annotated[str, Meta(min_length=1, description="How it makes the symptom")]
    verdict: Verdict
    message: Annotated[str, Meta(description="Why this verdict")]
    evidence: tuple[ObservationDocument, ...]
    findings: Annotated[
        tuple[ResultDocument, ...], Meta(description="The findings that confirm it, with their remedies")
    ]
    next_step: Annotated[
        str,
        Meta(description="Of a confirmed cause: where its remedy is explained. Of an undecided one: what decides it"),
    ]


class ServerVersionDocument(JsonObject, frozen=True, kw_only=True):
    """A server whose version was looked at before a probe."""

    name: str
    version: str


class ProbeDocument(JsonObject, frozen=True, kw_only=True):
    """A dry run of one publish."""

    subject: str
    servers: tuple[ServerVersionDocument, ...]
    stream: Annotated[str | None, Meta(description="The stream that would store the message")]
    error: Annotated[str | None, Meta(description="Why it would be refused, in the text of the server")]
    refused: Annotated[str | None, Meta(description="Why nothing was sent")]
    how_to_get: str
    verdict: Annotated[str, Meta(description="The same in one sentence")]


class DiagnosisDocument(JsonObject, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """What `jsdoctor diagnose --format json` writes."""

    schema_name: Literal["jsdoctor.diagnosis/v1"]
    jsdoctor: Version
    started: Moment
    finished: Moment
    offline: Annotated[bool, Meta(description="Nothing was collected: every cause is undecided")]
    sources: tuple[SourceDocument, ...]
    headline: Annotated[str, Meta(description="The checked deployment, in words")]
    symptom: Annotated[
        Slug | None, Meta(description="Null where the text is not known, and where only a probe was requested")
    ]
    title: str
    means: Annotated[str, Meta(description="What the words mean, and what they do not")]
    shown_by: Annotated[str, Meta(description="The observation that separates it from similar symptoms")]
    recognised_by: Annotated[str, Meta(description="What in the text shows the symptom")]
    api_error: Annotated[
        ApiErrorDocument | None, Meta(description="The error of the JetStream API that the text or --code names")
    ]
    also: Annotated[
        tuple[OtherSymptomDocument, ...],
        Meta(description="Other symptoms that the text could mean, the likelier first"),
    ]
    narrowing: Narrowing
    notes: Annotated[
        tuple[str, ...], Meta(description="What limits the diagnosis, for example that the stream was not seen")
    ]
    causes: Annotated[tuple[CauseDocument, ...], Meta(description="Every documented cause, the most frequent first")]
    next_step: Annotated[
        NextStep | None, Meta(description="What decides most of what is undecided; null where nothing is")
    ]
    next_symptoms: Annotated[tuple[Slug, ...], Meta(description="Symptoms that tend to follow")]
    needs: Annotated[tuple[str, ...], Meta(description="Where the text is not known: what would help")]
    for_the_maintainers: Annotated[
        tuple[str, ...], Meta(description="What to attach to a question to the maintainers of NATS")
    ]
    gaps: tuple[GapDocument, ...]
    probe: ProbeDocument | None
