"""A differential for machines: `jsdoctor.diagnosis/v1`, and its types. Never cut."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from jsdoctor.model.diagnosis import SCHEMA, Cause, Narrowing, NextStep, Verdict
from jsdoctor.model.probe import Probe
from jsdoctor.model.symptom import ApiErrorCode
from jsdoctor.render.diagnosis import FOR_THE_MAINTAINERS, WHAT_IT_WOULD_NEED, Consultation
from jsdoctor.render.formats.json import gap_document, observation_document, result_document, source_document
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order
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
from jsdoctor.render.wording import rfc3339


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


def render_diagnosis_json(consultation: Consultation, options: RenderOptions) -> str:
    """One JSON object and a newline. `symptom` is null where the text is unknown; `needs` says what would help."""
    diagnosis, recognition = consultation.diagnosis, consultation.recognition
    symptom = diagnosis.question.symptom if diagnosis else None
    recognised = diagnosis or (consultation.probe and not consultation.text)
    document = DiagnosisDocument(
        schema_name=SCHEMA,
        jsdoctor=consultation.version,
        started=rfc3339(consultation.started),
        finished=rfc3339(consultation.finished),
        offline=consultation.offline,
        sources=tuple(map(source_document, consultation.sources)),
        headline=consultation.headline,
        symptom=symptom.slug if symptom else None,
        title=symptom.title if symptom else "",
        means=symptom.means if symptom else "",
        shown_by=symptom.shown_by if symptom else "",
        recognised_by=diagnosis.question.by if diagnosis else "",
        api_error=_api_error(recognition.api_error),
        also=tuple(
            OtherSymptomDocument(symptom=other.symptom.slug, recognised_by=other.by, shown_by=other.symptom.shown_by)
            for other in recognition.also
        ),
        narrowing=diagnosis.question.narrowing if diagnosis else Narrowing(),
        notes=diagnosis.notes if diagnosis else (),
        causes=tuple(map(_cause, diagnosis.causes)) if diagnosis else (),
        next_step=diagnosis.next_step if diagnosis else None,
        next_symptoms=symptom.next if symptom else (),
        needs=() if recognised else WHAT_IT_WOULD_NEED,
        for_the_maintainers=FOR_THE_MAINTAINERS,
        gaps=tuple(map(gap_document, gaps_in_order(consultation.gaps))),
        probe=_probe(consultation.probe),
    )
    return dumps(document, options.ascii_only)


def _cause(cause: Cause) -> CauseDocument:
    return CauseDocument(
        code=cause.rule.code,
        slug=cause.rule.slug,
        because=cause.because,
        verdict=cause.verdict,
        message=cause.message,
        evidence=tuple(map(observation_document, cause.evidence)),
        findings=tuple(map(result_document, cause.results)),
        next_step=cause.next_step,
    )


def _api_error(error: ApiErrorCode | None) -> ApiErrorDocument | None:
    if error is None:
        return None
    return ApiErrorDocument(code=error.code, status=error.status, name=error.name, text=error.text, since=error.since)


def _probe(probe: Probe | None) -> ProbeDocument | None:
    if probe is None:
        return None
    return ProbeDocument(
        subject=probe.subject,
        servers=tuple(ServerVersionDocument(name=name, version=version) for name, version in probe.servers),
        stream=probe.stream or None,
        error=probe.error or None,
        refused=probe.refused or None,
        how_to_get=probe.how_to_get,
        verdict=probe.verdict,
    )
