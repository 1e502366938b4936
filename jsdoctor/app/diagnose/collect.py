"""Collects for a diagnosis: the evidence for the rules of the symptom's causes, and the input of the user."""

from __future__ import annotations

import re

from msgspec.structs import replace

from jsdoctor.app.collecting import Collected, collect
from jsdoctor.app.diagnose.operator_input import OperatorInput, results_of_input
from jsdoctor.app.diagnose.request import DiagnoseRequest
from jsdoctor.app.judging import open_judging
from jsdoctor.app.messages import Messages
from jsdoctor.engine.diagnosis import Examined, diagnose
from jsdoctor.engine.recognition import Recognition
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.symptom_of import symptom_of, symptom_of_possible
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.diagnosis import Diagnosis, Narrowing, Question
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Severity
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.remedy.offer import with_offers

_NAME = re.compile(r"[\w-]+")


def diagnose_collected(
    request: DiagnoseRequest,
    question: Question,
    operator_input: OperatorInput,
    collected: Collected | None,
    messages: Messages,
) -> tuple[Collected, Diagnosis]:
    """Collect, evaluate the rules of the causes, and decide each cause. Raises `Problem`.

    `collected` is what was collected already, for all rules: it is not read again.
    """
    judging = open_judging(request.judge(question.symptom.causes))
    if collected is None:
        collected = collect(request.wanted, judging, messages)
    if collected.problem is not None and collected.saw_nothing:
        messages.notice(collected.problem.message, collected.problem.hint)
    if question.narrowing == Narrowing():
        question = replace(question, narrowing=named_in(request.text, collected.evidence))
    evaluation = evaluate(
        judging.selection, judging.rulebook.checks, collected.evidence, judging.values, keep_passes=True
    )
    results = results_of_input(operator_input, request.wanted, judging, collected)
    offered = with_offers(evaluation.results, judging.rulebook.actions, collected.evidence, collected.logins)
    examined = Examined(collected.evidence, replace(evaluation, results=offered), results)
    return collected, diagnose(question, judging.rulebook.rules, judging.rulebook.checks, examined)


def named_in(text: str, evidence: EvidenceSet) -> Narrowing:
    """The stream or consumer that a question names, if its words are the name of exactly one."""
    series = evidence.get(SnapshotSeries)
    words = set(_NAME.findall(text))
    streams = [stream for stream in series.last.streams if stream.name in words] if series is not None else []
    consumers = [
        consumer.subject
        for stream in (streams or (series.last.streams if series is not None else ()))
        for consumer in stream.consumers
        if consumer.name in words
    ]
    if len(consumers) == 1:
        return Narrowing(stream=consumers[0].stream, consumer=consumers[0].name)
    return Narrowing(stream=streams[0].name) if len(streams) == 1 else Narrowing()


def recognised_by_evidence(
    request: DiagnoseRequest, book: SymptomBook, by_lines: Recognition, messages: Messages
) -> tuple[Recognition, Collected | None]:
    """The symptom of evidence that was given without a text, with the collected evidence, if any.

    The first of these that has a symptom: findings of severity error or above, the lines of the evidence, findings of
    severity warning or above, possible faults.
    """
    if not request.has_files:
        return by_lines, None
    judging = open_judging(request.judge())
    collected = collect(request.wanted, judging, messages)
    evaluation = evaluate(collected.judging.selection, judging.rulebook.checks, collected.evidence, judging.values)
    severe = symptom_of(evaluation.results, book, Severity.ERROR)
    if severe.symptom or by_lines.symptom:
        return severe if severe.symptom else by_lines, collected
    recognition = symptom_of(evaluation.results, book, Severity.WARNING)
    return recognition if recognition.symptom else symptom_of_possible(evaluation.results, book), collected
