"""From a request to a consultation: recognition, collection for the symptom's causes, the differential."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from jsdoctor import __version__
from jsdoctor.app.diagnose.request import DiagnoseRequest, refuse_contradictions
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.rulebook import Rulebook, open_rulebook, open_symptoms
from jsdoctor.engine.diagnosis import undiagnosed
from jsdoctor.engine.recognition import Recogniser, Recognition
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.diagnosis import Question
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.problems import UsageProblem
from jsdoctor.remedy.offer import flagged
from jsdoctor.render.diagnosis import Consultation
from jsdoctor.sources.unrecognised import unrecognised_gaps

if TYPE_CHECKING:
    from jsdoctor.app.collecting import Collected


def consult(request: DiagnoseRequest, messages: Messages = LOGGED) -> Consultation:
    """Diagnose a symptom, probe a subject, or both. Raises `Problem`."""
    refuse_contradictions(request)
    started = datetime.now(UTC)
    book = open_symptoms(rulebook := open_rulebook())
    recognition = _recognise(request, book, rulebook)
    collected: Collected | None = None
    if recognition.symptom is None and not (request.text or request.code):
        from jsdoctor.app.diagnose.collect import recognised_by_evidence

        by_lines = Recogniser(book, rulebook.rules).text(request.problem_lines)
        recognition, collected = recognised_by_evidence(request, book, by_lines, messages)
    question = None
    if recognition.symptom:
        question = Question(recognition.symptom, recognition.by, request.narrowing, recognition.codes)
    probed, diagnosis = None, None
    if request.probe:
        from jsdoctor.app.diagnose.operator_input import run_probe

        probed = run_probe(request.probe, request.narrowing, request.wanted, request.judge())
    offline = request.offline and not request.has_files
    if question is not None and (offline or request.is_only_a_question):
        diagnosis = undiagnosed(question, rulebook.rules, rulebook.checks)
    elif question is not None:
        from jsdoctor.app.diagnose.collect import diagnose_collected
        from jsdoctor.app.diagnose.operator_input import OperatorInput

        operator_input = OperatorInput(request.narrowing, recognition.actual_seq, probed)
        collected, diagnosis = diagnose_collected(request, question, operator_input, collected, messages)
    return Consultation(
        version=__version__,
        started=started,
        finished=datetime.now(UTC),
        offline=offline,
        text=request.text or request.problem_lines,
        recognition=recognition,
        diagnosis=diagnosis,
        book=book,
        sources=collected.sources if collected else (),
        headline=collected.headline if collected else "",
        gaps=tuple(
            flagged(gap, gap.subject, collected.logins) for gap in collected.evidence.gaps_for(()) if gap.requested
        )
        if collected
        else unrecognised_gaps(request.wanted.unrecognised),
        probe=probed,
    )


def _recognise(request: DiagnoseRequest, book: SymptomBook, rulebook: Rulebook) -> Recognition:
    if request.symptom:
        symptom = book.symptom(request.symptom)
        if symptom is None:
            slugs = [symptom.slug for symptom in book.symptoms]
            raise UsageProblem(
                f"no symptom is named {request.symptom!r}{did_you_mean(request.symptom, slugs)}",
                f"the symptoms are: {', '.join(slugs)}",
            )
        return Recognition(symptom=symptom, by="--symptom")
    recogniser = Recogniser(book, rulebook.rules)
    if request.code is not None:
        return recogniser.code(request.code)
    return recogniser.question(request.text)
