"""The differential of each symptom, written out to be read: `fixtures/engine/differentials.txt`.

First without any evidence; then on the first case on which each of its causes fires, and on the first that its rule
cannot judge, both as a whole and narrowed to the stream or consumer of the finding. Of a cause, one text is
written once. `make golden` writes the file.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from jsdoctor.engine.diagnosis import undiagnosed
from jsdoctor.engine.runner import Evaluation
from jsdoctor.model.diagnosis import Diagnosis, Narrowing, Question
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.report import Result
from tests.diagnosis.book import book
from tests.diagnosis.differential import differential, evaluated
from tests.support.evidence import FIXTURES
from tests.support.families import declared_cases, in_the_repository
from tests.support.ruleset import checks, rules

PATH = FIXTURES / "engine" / "differentials.txt"
_HEAD = "# The differential of "
_KINDS = ("fires", "unknown")
_MAX_CAUSES = 3
"""Causes of a symptom whose evidence is tried, the most frequent first."""


@cache
def golden() -> dict[str, list[str]]:
    """The lines of each symptom in the golden file, with its heading."""
    slug, sections = "", defaultdict(list)
    for line in PATH.read_text("utf-8").splitlines():
        slug = line.removeprefix(_HEAD) if line.startswith(_HEAD) else slug
        sections[slug].append(line)
    return sections


def written(slug: str) -> Iterator[str]:
    """The lines of one symptom."""
    symptom = book().symptom(slug)
    assert symptom is not None
    yield f"{_HEAD}{slug}"
    seen: set[str] = set()
    for narrowing in (Narrowing(), Narrowing(stream="ORDERS", consumer="archive")):
        yield from _lines("without evidence", undiagnosed(Question(symptom, "", narrowing), rules(), checks()), seen)
    for code in symptom.causes[:_MAX_CAUSES]:
        for title, evidence in _cases(code):
            evaluation = evaluated(evidence, symptom.causes)
            for narrowing in _narrowings(code, evaluation):
                diagnosis = differential(slug, evidence, narrowing, evaluation=evaluation)
                yield from _lines(f"{code} {title}, {narrowing.stream or 'all'} {narrowing.consumer}", diagnosis, seen)


@cache
def _cases(code: str) -> list[tuple[str, EvidenceSet]]:
    chosen = {}
    for case in declared_cases(code):
        kind = case.declared.get("kind")
        family = case.family.name if case.family else "example"
        if kind in _KINDS and (family, kind) not in chosen:
            chosen[family, kind] = (case.title, case.evidence())
    return list(chosen.values())


def _narrowings(code: str, evaluation: Evaluation) -> Iterator[Narrowing]:
    yield Narrowing()
    about = (
        _narrowing(result.finding.subject)
        for result in evaluation.results
        if result.rule.code == code and _counts(result)
    )
    yield from list(dict.fromkeys(narrowing for narrowing in about if narrowing.stream))[:1]


def _counts(result: Result) -> bool:
    return result.finding.outcome in (Outcome.FAIL, Outcome.NOT_EVALUATED)


def _narrowing(subject: Subject) -> Narrowing:
    if subject.kind == "stream":
        return Narrowing(stream=subject.name)
    return Narrowing(stream=subject.stream, consumer=subject.name if subject.kind == "consumer" else "")


def _lines(title: str, diagnosis: Diagnosis, seen: set[str]) -> Iterable[str]:
    lines = ["", title.rstrip(), *(f"  {note}" for note in diagnosis.notes)]
    for cause in diagnosis.causes:
        assert cause.because
        line = f"  {cause.verdict} {cause.rule.code}: {cause.message}"
        if cause.next_step != f"jsdoctor explain {cause.rule.code}":
            line += f" | {cause.next_step}"
        if cause.evidence:
            line += f" | {len(cause.results)} findings, {', '.join(evidence.path for evidence in cause.evidence[:6])}"
        if line not in seen:
            seen.add(line)
            lines.append(line)
    if diagnosis.next_step is not None:
        lines.append(f"  next: {diagnosis.next_step.text} ({', '.join(diagnosis.next_step.decides)})")
    return map(in_the_repository, lines)


def write_differentials() -> None:
    """Write the golden file."""
    text = "".join(f"{line}\n" for symptom in book().symptoms for line in (*written(symptom.slug), ""))
    PATH.write_text(text, encoding="utf-8", errors="backslashreplace")
