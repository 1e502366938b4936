"""A differential for machines: `jsdoctor.diagnosis/v1`, described by `docs/schema/diagnosis-v1.json`. Never cut."""

from __future__ import annotations

from jsdoctor.engine.recognition import Recognition
from jsdoctor.model.diagnosis import SCHEMA, Cause, Diagnosis, Narrowing
from jsdoctor.model.finding import Observation
from jsdoctor.model.probe import Probe
from jsdoctor.model.symptom import ApiErrorCode
from jsdoctor.render.diagnosis import FOR_THE_MAINTAINERS, WHAT_IT_WOULD_NEED, Consultation
from jsdoctor.render.json_v1 import dumps, gap_document, result_document, source_document
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order
from jsdoctor.render.wording import rfc3339

Document = dict[str, object]


def render_diagnosis_json(consultation: Consultation, options: RenderOptions) -> str:
    """One JSON object and a newline. `symptom` is null where the text is unknown; `needs` says what would help."""
    diagnosis, recognition = consultation.diagnosis, consultation.recognition
    document: Document = {
        "schema": SCHEMA,
        "jsdoctor": consultation.version,
        "started": rfc3339(consultation.started),
        "finished": rfc3339(consultation.finished),
        "offline": consultation.offline,
        "sources": [source_document(source) for source in consultation.sources],
        "headline": consultation.headline,
        "symptom": diagnosis.question.symptom.slug if diagnosis else None,
        "title": diagnosis.question.symptom.title if diagnosis else "",
        "means": diagnosis.question.symptom.means if diagnosis else "",
        "recognised_by": diagnosis.question.by if diagnosis else "",
        "api_error": _api_error(recognition.api_error),
        "also": _also(recognition),
        "narrowing": _narrowing(diagnosis.question.narrowing if diagnosis else Narrowing()),
        "notes": list(diagnosis.notes) if diagnosis else [],
        "causes": [_cause(cause) for cause in diagnosis.causes] if diagnosis else [],
        "next_step": _next_step(diagnosis),
        "next_symptoms": list(diagnosis.question.symptom.next) if diagnosis else [],
        "needs": [] if diagnosis or (consultation.probe and not consultation.text) else list(WHAT_IT_WOULD_NEED),
        "for_the_maintainers": list(FOR_THE_MAINTAINERS),
        "gaps": [gap_document(gap) for gap in gaps_in_order(consultation.gaps)],
        "probe": _probe(consultation.probe),
    }
    return dumps(document, options.ascii_only)


def _cause(cause: Cause) -> Document:
    return {
        "code": cause.rule.code,
        "slug": cause.rule.slug,
        "because": cause.because,
        "verdict": cause.verdict.value,
        "message": cause.message,
        "evidence": [_observation(one) for one in cause.evidence],
        "findings": [result_document(result) for result in cause.results],
        "next_step": cause.next_step,
    }


def _observation(one: Observation) -> Document:
    return {"source": one.source, "path": one.path, "value": one.value, "at": rfc3339(one.at) if one.at else None}


def _next_step(diagnosis: Diagnosis | None) -> Document | None:
    if diagnosis is None or diagnosis.next_step is None:
        return None
    return {"text": diagnosis.next_step.text, "decides": list(diagnosis.next_step.decides)}


def _also(recognition: Recognition) -> list[Document]:
    return [{"symptom": other.symptom.slug, "recognised_by": other.by} for other in recognition.also]


def _narrowing(narrowing: Narrowing) -> Document:
    return {
        "stream": narrowing.stream,
        "consumer": narrowing.consumer,
        "expected_seq": narrowing.expected_seq,
        "msg_id": narrowing.msg_id,
    }


def _api_error(error: ApiErrorCode | None) -> Document | None:
    if error is None:
        return None
    return {"code": error.code, "status": error.status, "name": error.name, "text": error.text, "since": error.since}


def _probe(probe: Probe | None) -> Document | None:
    if probe is None:
        return None
    return {
        "subject": probe.subject,
        "servers": [{"name": name, "version": version} for name, version in probe.servers],
        "stream": probe.stream or None,
        "error": probe.error or None,
        "refused": probe.refused or None,
        "how_to_get": probe.how_to_get,
        "verdict": probe.verdict,
    }
