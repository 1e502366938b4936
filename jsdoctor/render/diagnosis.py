"""A differential for a person: the verdict, the causes that are present, and what decides the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from jsdoctor.engine.recognition import Recognition, nearest_symptoms
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.diagnosis import Cause, Diagnosis, Verdict
from jsdoctor.model.gap import Gap
from jsdoctor.model.probe import Probe
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.symptom import FIRST_STEPS, Symptom
from jsdoctor.model.wording import counted, joined, listed, span
from jsdoctor.render.findings import offered
from jsdoctor.render.incidents import names_of
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import gaps_in_order
from jsdoctor.render.page import Page
from jsdoctor.render.plain import compact
from jsdoctor.render.wording import to_the_second

_STYLES = {
    Verdict.CONFIRMED: "bold red",
    Verdict.EXPLAINED: "bold magenta",
    Verdict.UNDECIDED: "bold yellow",
    Verdict.RULED_OUT: "bold green",
}
_WORDS = {
    Verdict.CONFIRMED: "confirmed",
    Verdict.EXPLAINED: "explained",
    Verdict.UNDECIDED: "undecided",
    Verdict.RULED_OUT: "ruled out",
}
_ORDER = (Verdict.CONFIRMED, Verdict.EXPLAINED, Verdict.UNDECIDED, Verdict.RULED_OUT)
_CUT_OFF = "(its names hold characters that cannot be shown here; --format json has it)"
_EVIDENCE_SHOWN, _REMEDIES_SHOWN, _GAPS_SHOWN, _ALSO_SHOWN = 10, 3, 5, 3
_SHORT_LIST, _OFFLINE_CAUSES = 3, 8
"""Steps, codes and gaps of a short diagnosis; causes of one that looked at nothing."""

WHAT_IT_WOULD_NEED = (
    "the error text as the client, the nats command or the server wrote it, in full",
    "or its API error code: --code 10071",
    "or a line of the log, with what stands before it: jsdoctor diagnose - < line",
    "or say what is wrong in the words of a symptom: --symptom SLUG",
)
FOR_THE_MAINTAINERS = (
    "versions of servers and clients; how many servers, regions, replicas; kind of disk",
    "what jsdoctor capture -o FILE.zip wrote: state of streams, consumers, replicas and servers, without secrets",
    "logs of all servers from their start on, best with -D; configuration, Helm values and chart version",
    "where data may be damaged, a copy of the store directory, made before any restart",
)


class Consultation(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one run of `jsdoctor diagnose`. `diagnosis` None: the text is unknown, or there was none."""

    version: str
    started: datetime
    finished: datetime
    offline: bool
    text: str
    recognition: Recognition
    diagnosis: Diagnosis | None
    book: SymptomBook
    sources: tuple[EvidenceOrigin, ...] = ()
    headline: str = ""
    gaps: tuple[Gap, ...] = ()
    probe: Probe | None = None


def render_diagnosis(consultation: Consultation, options: RenderOptions) -> str:
    """The diagnosis as text: the verdict first, and what decides the rest. With `verbose` every cause with its reason,
    with `quiet` one line per cause.
    """
    page = Page(options)
    if options.quiet:
        _write_one_line_each(page, consultation)
        return page.text()
    if consultation.diagnosis is not None and not options.verbose:
        _write_short(page, consultation, consultation.diagnosis)
        return page.text()
    _write_heading(page, consultation)
    if consultation.probe is not None:
        _write_probe(page, consultation.probe)
    if consultation.diagnosis is not None:
        _write_diagnosis(page, consultation, consultation.diagnosis, options)
    elif consultation.probe is None or consultation.text:
        _write_unknown(page, consultation)
    return page.text()


def _write_one_line_each(page: Page, consultation: Consultation) -> None:
    if consultation.probe is not None:
        page.unwrapped(consultation.probe.verdict)
    for cause in consultation.diagnosis.causes if consultation.diagnosis else ():
        page.unwrapped(
            (_WORDS[cause.verdict], _STYLES[cause.verdict]), f" {cause.rule.code} {cause.rule.slug}: {cause.message}"
        )
    if consultation.diagnosis is None and consultation.probe is None:
        page.unwrapped("not recognised")


def _write_short(page: Page, consultation: Consultation, diagnosis: Diagnosis) -> None:
    """The verdict, the causes that are present, what decides the others, and where there is more."""
    confirmed = diagnosis.with_verdict(Verdict.CONFIRMED)
    page.line((_verdict_sentence(diagnosis, consultation.offline), "bold red" if confirmed else "bold"))
    if consultation.headline:
        page.line((f"Looked at {consultation.headline}", "dim"))
    if error := consultation.recognition.api_error:
        page.line(f"API error {error.code} ({error.status}): {error.text}")
    for note in diagnosis.notes:
        page.line(("Note: ", "bold yellow"), note)
    if consultation.probe is not None:
        _write_probe(page, consultation.probe)
    _write_present(page, confirmed, diagnosis.with_verdict(Verdict.EXPLAINED))
    undecided = diagnosis.with_verdict(Verdict.UNDECIDED)
    if undecided and consultation.offline:
        _write_possible(page, undecided)
    elif undecided:
        _write_undecided(page, undecided)
    for gap in gaps_in_order(consultation.gaps)[:_SHORT_LIST]:
        page.line(f"Not seen: {gap.subject.label}: {gap.reason}")
    page.blank()
    if others := [other.symptom.slug for other in consultation.recognition.also[:_ALSO_SHOWN]]:
        page.line(f"Could also be {' or '.join(others)}: --symptom SLUG.")
    page.line(f"More: -v, or jsdoctor explain {diagnosis.question.symptom.slug}")


def _verdict_sentence(diagnosis: Diagnosis, offline: bool) -> str:
    """`Publishes get no acknowledgement: JSD603 is confirmed, 10 causes undecided, 5 ruled out.`"""
    symptom, parts = diagnosis.question.symptom, []
    if codes := [cause.rule.code for cause in diagnosis.with_verdict(Verdict.CONFIRMED)]:
        parts.append(f"{joined(codes)} {'are' if len(codes) > 1 else 'is'} confirmed")
    elif not offline:
        parts.append("no cause is confirmed")
    counts = {verdict: len(diagnosis.with_verdict(verdict)) for verdict in (Verdict.UNDECIDED, Verdict.RULED_OUT)}
    if offline:
        parts.append(f"{counted(counts[Verdict.UNDECIDED], 'possible cause')}, without looking")
    else:
        parts += [f"{count:,} {_WORDS[verdict]}" for verdict, count in counts.items() if count]
    return f"{symptom.title}: {', '.join(parts)}."


def _write_present(page: Page, confirmed: Sequence[Cause], explained: Sequence[Cause]) -> None:
    """The first causes with what to do; the others, and what they explain, by name."""
    for cause in confirmed[:_SHORT_LIST]:
        page.blank()
        page.line((f"confirmed {cause.rule.code} ", _STYLES[cause.verdict]), cause.message, hang=2)
        for result in cause.results[:1]:
            if result.finding.advice:
                page.line(f"Do first: {result.finding.advice}", indent=2)
            for label, command in offered(result.remedy)[:1]:
                page.verbatim(f"{label}: ", command, _CUT_OFF, indent=2)
    if names := [
        f"{cause.rule.code} {names_of(cause.results) if cause.results else _WORDS[cause.verdict]}"
        for cause in (*confirmed[_SHORT_LIST:], *explained)
    ]:
        page.blank()
        page.line(f"Also found: {', '.join(names)} (-v)")


def _write_undecided(page: Page, causes: tuple[Cause, ...]) -> None:
    """What decides them, by how many each step decides."""
    by_step: dict[str, list[str]] = {}
    for cause in causes:
        by_step.setdefault(cause.next_step or cause.message, []).append(cause.rule.code)
    steps = sorted(by_step.items(), key=lambda item: -len(item[1]))
    page.blank()
    page.line(("To decide the rest", "bold"))
    for step, codes in steps[:_SHORT_LIST]:
        page.line(f"{step} ({listed(codes, _SHORT_LIST)})", indent=2, hang=2)
    if left := sum(len(codes) for _, codes in steps[_SHORT_LIST:]):
        page.line(f"{counted(left, 'more cause')}: -v", indent=2)


def _write_possible(page: Page, causes: tuple[Cause, ...]) -> None:
    """What each would be, the most frequent first."""
    page.blank()
    for cause in causes[:_OFFLINE_CAUSES]:
        page.line((f"{cause.rule.code} ", "bold"), cause.because, hang=2)
    if len(causes) > _OFFLINE_CAUSES:
        page.line(f"and {counted(len(causes) - _OFFLINE_CAUSES, 'more cause')}: -v")


def _write_heading(page: Page, consultation: Consultation) -> None:
    took = (consultation.finished - consultation.started).total_seconds()
    sources = listed((f"{source.kind} {source.name}" for source in consultation.sources), 3)
    parts = (f"jsdoctor {consultation.version}", sources or "nothing collected", to_the_second(consultation.started))
    page.line(" · ".join((*parts, f"took {span(took * 1e9)}")))
    if consultation.headline:
        page.line(f"Looked at {consultation.headline}")


def _write_probe(page: Page, probe: Probe) -> None:
    page.blank()
    page.line(("Probe ", "bold"), f"of {probe.subject}: {probe.verdict}")
    if probe.servers:
        versions = ", ".join(f"{name} {version}" for name, version in probe.servers)
        page.line(f"Servers seen before: {versions}", indent=2)
    if probe.refused:
        page.line("Nothing was sent." + (f" {probe.how_to_get}" if probe.how_to_get else ""), indent=2)
    elif probe.stream:
        page.line("The message was traced, not stored.", indent=2)


def _write_diagnosis(page: Page, consultation: Consultation, diagnosis: Diagnosis, options: RenderOptions) -> None:
    symptom = diagnosis.question.symptom
    page.blank()
    page.line((symptom.slug, "bold"), f" · {symptom.title}")
    page.line(f"Recognised by {diagnosis.question.by}", indent=2)
    if error := consultation.recognition.api_error:
        page.line(f"API error {error.code} ({error.status}): {error.text}", indent=2)
    page.line(symptom.means, indent=2)
    _write_alternatives(page, symptom, consultation.recognition)
    for note in diagnosis.notes:
        page.line(("Note: ", "bold yellow"), note, indent=2)
    for verdict in _ORDER:
        for cause in diagnosis.with_verdict(verdict):
            _write_cause(page, cause, options, consultation.offline)
    _write_gaps(page, consultation.gaps)
    _write_end(page, consultation, diagnosis)


def _write_alternatives(page: Page, symptom: Symptom, recognition: Recognition) -> None:
    """Other symptoms with the same words, and the observation that separates each from the others."""
    if not recognition.also:
        return
    page.line(f"It is this one if {symptom.shown_by}", indent=2)
    for other in recognition.also[:_ALSO_SHOWN]:
        page.line(f"Could also be {other.symptom.slug}, by {other.by}: if {other.symptom.shown_by}", indent=2)


def _write_cause(page: Page, cause: Cause, options: RenderOptions, offline: bool) -> None:
    page.blank() if cause.verdict is not Verdict.RULED_OUT else None
    page.line(
        (f"{_WORDS[cause.verdict]:<10}", _STYLES[cause.verdict]), " ", (f"{cause.rule.code} {cause.rule.slug}", "bold")
    )
    if cause.verdict in (Verdict.RULED_OUT, Verdict.EXPLAINED):
        page.line(cause.message, indent=4)
        return
    page.line(cause.because, indent=4)
    if not offline:
        page.line(("Found: " if cause.verdict is Verdict.CONFIRMED else "Not decided: ") + cause.message, indent=4)
    if options.verbose or cause.verdict is Verdict.CONFIRMED:
        for item in cause.evidence[: None if options.verbose > 1 else _EVIDENCE_SHOWN]:
            page.line((f"{item.source or '?'}: {item.path} = {compact(item.value)}", "dim"), indent=4)
    for result in cause.results[:_REMEDIES_SHOWN]:
        if result.finding.advice:
            page.line(f"Do first: {result.finding.advice}", indent=4)
        for label, command in offered(result.remedy):
            page.verbatim(f"{label}: ", command, _CUT_OFF, indent=4)
    if cause.next_step:
        page.line(("Why and how to fix: " if cause.results else "To decide: ") + cause.next_step, indent=4)


def _write_gaps(page: Page, gaps: tuple[Gap, ...]) -> None:
    if not gaps:
        return
    page.blank()
    page.line(("Not seen", "bold"))
    ordered = gaps_in_order(gaps)
    for gap in ordered[:_GAPS_SHOWN]:
        page.line(f"{gap.subject.label}: {gap.reason}. {gap.how_to_get}", indent=2)
    if len(ordered) > _GAPS_SHOWN:
        page.line(f"and {len(ordered) - _GAPS_SHOWN:,} more", indent=2)


def _write_first_steps(page: Page, symptom: Symptom) -> None:
    """The page's own section, a paragraph or a numbered step to a line."""
    _, _, after = symptom.body.partition(f"## {FIRST_STEPS}\n")
    section = after.partition("\n## ")[0].strip()
    if not section:
        return
    page.blank()
    page.line(("First steps", "bold"))
    for paragraph in re.split(r"\n(?=\d+\. |- )|\n\s*\n", section):
        page.line(" ".join(paragraph.split()), indent=2)


def _write_end(page: Page, consultation: Consultation, diagnosis: Diagnosis) -> None:
    _write_first_steps(page, diagnosis.question.symptom)
    page.blank()
    counts = [f"{len(causes)} {_WORDS[v]}" for v in _ORDER if (causes := diagnosis.with_verdict(v))]
    page.line(f"{counted(len(diagnosis.causes), 'cause')}: {', '.join(counts)}.")
    confirmed = [cause.rule.code for cause in diagnosis.with_verdict(Verdict.CONFIRMED)]
    if confirmed:
        page.line(("Next: ", "bold"), f"fix {' and '.join(confirmed)}, then run this again.")
    if diagnosis.next_step is not None:
        decides = f" (decides {', '.join(diagnosis.next_step.decides)})" if diagnosis.next_step.decides else ""
        opening = "What decides most of the rest: " if confirmed else "Next: "
        page.line((opening, "" if confirmed else "bold"), diagnosis.next_step.text + decides)
    if diagnosis.question.symptom.next:
        page.line(f"Tends to follow: {', '.join(diagnosis.question.symptom.next)}")
    page.line(f"Causes and what runbooks claim: jsdoctor explain {diagnosis.question.symptom.slug}")
    if not consultation.offline and not diagnosis.with_verdict(Verdict.CONFIRMED):
        page.blank()
        page.line("No cause is confirmed. A report to the maintainers of NATS needs:")
        for item in FOR_THE_MAINTAINERS:
            page.line(f"- {item}", indent=2)


def _write_unknown(page: Page, consultation: Consultation) -> None:
    page.blank()
    error = consultation.recognition.api_error
    if error is not None:
        page.line((f"API error {error.code}", "bold"), f" ({error.status}, {error.name}): {error.text}")
        page.line("No symptom page goes with it: what it says is all that jsdoctor knows of it.")
    else:
        gaps = gaps_in_order(consultation.gaps)
        known = " jsdoctor does not know this text." if consultation.text or not gaps else ""
        page.line(("Not recognised.", "bold"), known)
        for gap in gaps[:_GAPS_SHOWN]:
            page.line(gap.reason)
        page.line("What it would need:")
        for item in WHAT_IT_WOULD_NEED:
            page.line(f"- {item}", indent=2)
    page.blank()
    if near := nearest_symptoms(consultation.text, consultation.book):
        page.line("The nearest symptoms, by their words:")
    for symptom in near:
        page.line((symptom.slug, "bold"), f": {symptom.title}", indent=2)
        page.line(f"jsdoctor diagnose --symptom {symptom.slug}", indent=4)
    page.line("Or look at everything: jsdoctor check; all symptoms: docs/diagnose.md")
