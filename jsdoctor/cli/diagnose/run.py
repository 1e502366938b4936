"""`jsdoctor diagnose`: the consultation, written in each format, and its exit code."""

from __future__ import annotations

from jsdoctor.app.diagnose.consult import consult
from jsdoctor.app.diagnose.request import DiagnoseRequest
from jsdoctor.cli.console import MESSAGES
from jsdoctor.cli.output import write_results
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.diagnosis import Verdict
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.render.diagnosis import Consultation, render_diagnosis
from jsdoctor.render.diagnosis_json import render_diagnosis_json
from jsdoctor.render.options import RenderOptions


def _render_html(consultation: Consultation, options: RenderOptions) -> str:
    from jsdoctor.render.html.documents import render_diagnosis_html

    return render_diagnosis_html(consultation, options)


_RENDERERS = {"text": render_diagnosis, "json": render_diagnosis_json, "html": _render_html}


def run_diagnose(request: DiagnoseRequest) -> ExitCode:
    """Diagnose, and write what was found. Raises the problems that `cli.errors` can say."""
    consultation = consult(request, MESSAGES)
    write_results(request, _RENDERERS, scrubbed(consultation))
    return _exit_code(request, consultation)


def _exit_code(request: DiagnoseRequest, consultation: Consultation) -> ExitCode:
    """1: a cause is confirmed, or a probe would be refused. 3: not known, or undecided. 0: all ruled out."""
    diagnosis, probed = consultation.diagnosis, consultation.probe
    if probed is not None and not probed.refused and (probed.error or not probed.stream):
        return ExitCode.FINDINGS
    if diagnosis is not None and diagnosis.with_verdict(Verdict.CONFIRMED):
        return ExitCode.FINDINGS
    if probed is not None and probed.refused:
        return ExitCode.INCONCLUSIVE
    if diagnosis is None:
        return (
            ExitCode.OK if probed is not None and not (request.text or request.problem_lines) else ExitCode.INCONCLUSIVE
        )
    if diagnosis.with_verdict(Verdict.UNDECIDED) and not consultation.offline:
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK
