"""A differential for machines: `jsdoctor.diagnosis/v1`, whose types are in `diagnosis_document`. Never cut."""

from __future__ import annotations

from jsdoctor.model.diagnosis import SCHEMA, Cause, Narrowing
from jsdoctor.model.probe import Probe
from jsdoctor.model.symptom import ApiErrorCode
from jsdoctor.render import diagnosis_document as documents
from jsdoctor.render.diagnosis import FOR_THE_MAINTAINERS, WHAT_IT_WOULD_NEED, Consultation
from jsdoctor.render.json_text import dumps
from jsdoctor.render.json_v1 import gap_document, observation_document, result_document, source_document
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order
from jsdoctor.render.wording import rfc3339


def render_diagnosis_json(consultation: Consultation, options: RenderOptions) -> str:
    """One JSON object and a newline. `symptom` is null where the text is unknown; `needs` says what would help."""
    diagnosis, recognition = consultation.diagnosis, consultation.recognition
    symptom = diagnosis.question.symptom if diagnosis else None
    recognised = diagnosis or (consultation.probe and not consultation.text)
    document = documents.DiagnosisDocument(
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
            documents.OtherSymptomDocument(
                symptom=other.symptom.slug, recognised_by=other.by, shown_by=other.symptom.shown_by
            )
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


def _cause(cause: Cause) -> documents.CauseDocument:
    return documents.CauseDocument(
        code=cause.rule.code,
        slug=cause.rule.slug,
        because=cause.because,
        verdict=cause.verdict,
        message=cause.message,
        evidence=tuple(map(observation_document, cause.evidence)),
        findings=tuple(map(result_document, cause.results)),
        next_step=cause.next_step,
    )


def _api_error(error: ApiErrorCode | None) -> documents.ApiErrorDocument | None:
    if error is None:
        return None
    return documents.ApiErrorDocument(
        code=error.code, status=error.status, name=error.name, text=error.text, since=error.since
    )


def _probe(probe: Probe | None) -> documents.ProbeDocument | None:
    if probe is None:
        return None
    return documents.ProbeDocument(
        subject=probe.subject,
        servers=tuple(documents.ServerVersionDocument(name=name, version=version) for name, version in probe.servers),
        stream=probe.stream or None,
        error=probe.error or None,
        refused=probe.refused or None,
        how_to_get=probe.how_to_get,
        verdict=probe.verdict,
    )
