"""The report as GitHub Flavored Markdown: for a pipeline's summary, a ticket, a merge request. Bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jsdoctor.model.change import ChangeStep, ManifestChange
from jsdoctor.model.finding import Confidence, Outcome
from jsdoctor.model.report import Report, Result
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.closing import verdict_sentence
from jsdoctor.render.escape import ascii_only
from jsdoctor.render.findings import numbers, offered
from jsdoctor.render.incidents import groups_without
from jsdoctor.render.markdown_text import bounded, code_text, plain_text, table
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order, with_outcome
from jsdoctor.render.unseen import is_command, undecided, without_gaps
from jsdoctor.render.wording import subjects, to_the_second

SUFFIXES = (".md", ".markdown")


def render(report: Report, options: RenderOptions) -> str:
    """A heading with the verdict, a section for each rule with findings, then what could not be seen or judged."""
    sections = [
        *_heading(report, options),
        *change_sections(report.change, options),
        *_findings(report, options),
        *_crashes(report, options),
        *_gaps(report, options),
        *_undecided(report, options),
        *_suppressed(report, options),
    ]
    text = "\n\n".join(sections) + "\n"
    return ascii_only(text) if options.ascii_only else text


def _heading(report: Report, options: RenderOptions) -> Iterator[str]:
    yield f"## jsdoctor: {plain_text(verdict_sentence(report))}"
    sources = listed((f"{source.kind} {source.name}" for source in report.sources), options.max_examples)
    parts = [f"jsdoctor {report.version}", sources, to_the_second(report.started)]
    if report.headline:
        parts.append(f"looked at {report.headline}")
    yield plain_text(" · ".join(part for part in parts if part))


def _findings(report: Report, options: RenderOptions) -> Iterator[str]:
    for incident in groups_without(report, without_gaps(report)[1]):
        block = incident.results
        rule = block[0].rule
        subject_count = subjects([result.finding.subject for result in block])
        yield f"### {incident.severity.value} {rule.code} {rule.slug} · {plain_text(subject_count)}"
        shown = block[: options.max_examples or None]
        yield table(
            ("Subject", "Finding", "Measured"),
            [
                (
                    code_text(result.finding.subject.label),
                    plain_text(result.finding.message),
                    plain_text(_measured_text(result)),
                )
                for result in shown
            ],
        )
        if len(shown) < len(block):
            yield f"and {len(block) - len(shown):,} more"
        if incident.explanation:
            yield f"Explained by {plain_text(incident.explanation)}"
        yield from _fixes(shown)
        yield f"Why: `jsdoctor explain {rule.code}`"


def _measured_text(result: Result) -> str:
    confidence = result.finding.confidence
    doubt = "" if confidence is Confidence.HIGH else f"{confidence.value} confidence"
    return ", ".join(part for part in (numbers(result.finding).removeprefix("measured "), doubt) if part)


def _fixes(shown: Sequence[Result]) -> Iterator[str]:
    """Advice, then commands by label. A command that does not print as it is, is replaced by a note."""
    commands: dict[str, list[str]] = {}
    for result in shown:
        for label, command in offered(result.remedy):
            commands.setdefault(label, []).append(command)
    for advice in dict.fromkeys(result.finding.advice for result in shown if result.finding.advice):
        yield f"Do first: {plain_text(advice)}"
    for label, every in sorted(commands.items()):
        lines = [command for command in every if command.isprintable()]
        if len(lines) < len(every):
            yield f"{plain_text(label)}: a command with characters that cannot be shown; `--format json` has it."
        if lines:
            fence = "`" * max(3, 1 + max(len(run) for run in re.findall("`*", "\n".join(lines))))
            yield f"{plain_text(label)}:"
            yield "\n".join((f"{fence}sh", *dict.fromkeys(lines), fence))


def _crashes(report: Report, options: RenderOptions) -> Iterator[str]:
    crashes = with_outcome(report.results, Outcome.ERROR)
    if crashes:
        yield f"### {counted(len(crashes), 'failed check')}"
        yield "A defect of the rule, not of the deployment: the condition that it checks is not known."
        rows = [
            (result.rule.code, code_text(result.finding.subject.label), plain_text(result.finding.message))
            for result in crashes
        ]
        yield from bounded(("Rule", "Subject", "What happened"), rows, options)


def _gaps(report: Report, options: RenderOptions) -> Iterator[str]:
    missing = [gap for gap in gaps_in_order(report.gaps) if gap.requested]
    if missing:
        yield f"### Not seen · {counted(len(missing), 'gap')}"
        rows = [(code_text(gap.subject.label), plain_text(gap.reason), _advice(gap.how_to_get)) for gap in missing]
        yield from bounded(("What", "Why", "How to get it"), rows, options)


def _undecided(report: Report, options: RenderOptions) -> Iterator[str]:
    groups = undecided(report)
    if groups:
        codes = {code for group in groups for code in group.codes}
        yield f"### Not evaluated · {counted(len(codes), 'rule')}"
        rows = [
            (
                ", ".join(sorted(group.codes)) + (f" ({subjects(group.subjects)})" if group.subjects else ""),
                plain_text(group.reason),
                _advice(group.how_to_get),
            )
            for group in groups
        ]
        yield from bounded(("Rules", "Why", "How to change that"), rows, options)


def _suppressed(report: Report, options: RenderOptions) -> Iterator[str]:
    results = by_urgency(report.suppressed())
    if results:
        yield f"### Suppressed · {counted(len(results), 'finding')}"
        rows = [
            (result.rule.code, code_text(result.finding.subject.label), plain_text(result.suppressed.words))
            for result in results
            if result.suppressed
        ]
        yield from bounded(("Rule", "Subject", "Why it does not count"), rows, options)


def _advice(how_to_get: str) -> str:
    return code_text(how_to_get) if is_command(how_to_get) else plain_text(how_to_get)


_NOTHING = "nothing"


def change_sections(change: ManifestChange | None, options: RenderOptions) -> Iterator[str]:
    """Nothing without a change; else the steps in the order to apply them, their fields, then the undeclared."""
    if change is None:
        return
    yield f"### Change · {plain_text(change.words())}"
    if change.steps:
        yield "Apply in this order:"
        heads = ("", "Action", "Subject", "Declared at", "Messages at stake", "Why here")
        yield from bounded(heads, [_row(place, step) for place, step in enumerate(change.steps, 1)], options)
        yield from _fields(change, options)
    else:
        yield "The deployment is as the manifests declare it."
    if change.undeclared or change.incomplete:
        yield "Deployed and in no manifest:"
    if change.undeclared:
        rows = [(subject.kind, code_text(subject.label)) for subject in change.undeclared]
        yield from bounded(("Kind", "Subject"), rows, options)
    if change.incomplete:
        yield f"There may be more: {plain_text(change.incomplete)}."


def _row(place: int, step: ChangeStep) -> tuple[str, ...]:
    held = "" if step.messages is None else f" (of {counted(step.messages, 'message')})"
    stake = f"{step.at_stake}{held}" if step.at_stake else _NOTHING
    return (
        str(place),
        step.action.value,
        code_text(step.subject.label),
        code_text(f"{step.file}:{step.line}"),
        plain_text(stake),
        plain_text(step.reason),
    )


def _fields(change: ManifestChange, options: RenderOptions) -> Iterator[str]:
    shown = [step for step in change.steps if step.fields][: options.max_examples or None]
    rows = [
        (code_text(step.subject.label), code_text(field.field), code_text(field.before), code_text(field.after))
        for step in shown
        for field in step.fields
    ]
    if rows:
        yield "Before and after:"
        yield table(("Subject", "Field", "Before", "After"), rows)
