"""`jsdoctor diagnose`, end to end: recognition, collection for the symptom's causes, the differential, exit code."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from jsdoctor import __version__
from jsdoctor.app.outputs import Color
from jsdoctor.app.pasted_reading import gaps_of
from jsdoctor.app.rulebook import Rulebook, open_rulebook, open_symptoms
from jsdoctor.cli.console import ascii_only, use_color, width_of
from jsdoctor.cli.diagnose.request import DiagnoseRequest, refuse_contradictions
from jsdoctor.cli.output import write_output
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.engine.diagnosis import undiagnosed
from jsdoctor.engine.recognition import Recogniser, Recognition
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.diagnosis import Question, Verdict
from jsdoctor.parse.nearest import did_you_mean
from jsdoctor.parse.scrubbed import scrubbed
from jsdoctor.render.diagnosis import Consultation, render_diagnosis
from jsdoctor.render.diagnosis_json import render_diagnosis_json
from jsdoctor.render.options import RenderOptions

if TYPE_CHECKING:
    from jsdoctor.app.collecting import Collected


def _render_html(consultation: Consultation, options: RenderOptions) -> str:
    from jsdoctor.render.html.diagnosis import render_diagnosis_html

    return render_diagnosis_html(consultation, options)


_RENDERERS = {"text": render_diagnosis, "json": render_diagnosis_json, "html": _render_html}


def run_diagnose(request: DiagnoseRequest) -> ExitCode:
    """Diagnose a symptom, probe a subject, or both. Raises the problems that `cli.errors` can say."""
    refuse_contradictions(request)
    started = datetime.now(UTC)
    book = open_symptoms(rulebook := open_rulebook())
    recognition = _recognise(request, book, rulebook)
    collected: Collected | None = None
    if recognition.symptom is None and not (request.text or request.code):
        from jsdoctor.cli.diagnose.collect import recognised_by_evidence

        by_lines = Recogniser(book, rulebook.rules).text(request.told)
        recognition, collected = recognised_by_evidence(request, book, by_lines)
    question = Question(recognition.symptom, recognition.by, request.narrowing) if recognition.symptom else None
    probed, diagnosis = None, None
    if request.probe:
        from jsdoctor.cli.diagnose.operator_input import run_probe

        probed = run_probe(request.probe, request.narrowing, request.wanted, request.judge())
    offline = request.offline and not request.has_files
    if question is not None and offline:
        diagnosis = undiagnosed(question, rulebook.rules, rulebook.checks)
    elif question is not None:
        from jsdoctor.cli.diagnose.collect import diagnose_collected
        from jsdoctor.cli.diagnose.operator_input import OperatorInput

        told = OperatorInput(request.narrowing, recognition.actual_seq, probed)
        collected, diagnosis = diagnose_collected(request, question, told, collected)
    consultation = Consultation(
        version=__version__,
        started=started,
        finished=datetime.now(UTC),
        offline=offline,
        text=request.text or request.told,
        recognition=recognition,
        diagnosis=diagnosis,
        book=book,
        sources=collected.sources if collected else (),
        headline=collected.headline if collected else "",
        gaps=tuple(gap for gap in collected.evidence.gaps_for(()) if gap.requested)
        if collected
        else gaps_of(request.wanted.unrecognised),
        probe=probed,
    )
    _write(request, consultation)
    return _exit_code(request, consultation)


def _recognise(request: DiagnoseRequest, book: SymptomBook, rulebook: Rulebook) -> Recognition:
    if request.symptom:
        symptom = book.symptom(request.symptom)
        if symptom is None:
            slugs = [one.slug for one in book.symptoms]
            raise UsageProblem(
                f"no symptom is named {request.symptom!r}{did_you_mean(request.symptom, slugs)}",
                f"the symptoms are: {', '.join(slugs)}",
            )
        return Recognition(symptom=symptom, by="--symptom")
    recogniser = Recogniser(book, rulebook.rules)
    if request.code is not None:
        return recogniser.code(request.code)
    return recogniser.text(request.text)


def _write(request: DiagnoseRequest, consultation: Consultation) -> None:
    consultation = scrubbed(consultation)
    for target in request.outputs:
        to_stdout = target.path is None
        options = RenderOptions(
            width=width_of(sys.stdout) if to_stdout else 100,
            color=request.color is Color.ALWAYS or (to_stdout and use_color(request.color, sys.stdout)),
            ascii_only=to_stdout and ascii_only(sys.stdout),
            verbose=request.verbose,
            quiet=request.quiet,
        )
        write_output(_RENDERERS[target.format](consultation, options), target.path)


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
        return ExitCode.OK if probed is not None and not (request.text or request.told) else ExitCode.INCONCLUSIVE
    if diagnosis.with_verdict(Verdict.UNDECIDED) and not consultation.offline:
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK
