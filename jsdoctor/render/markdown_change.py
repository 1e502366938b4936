"""The change of manifests as Markdown: steps in order, messages at stake, fields before and after, drift."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.change import ChangeStep, ManifestChange
from jsdoctor.model.wording import counted
from jsdoctor.render.markdown_text import bounded, code_text, plain_text, table
from jsdoctor.render.options import RenderOptions

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
    yield from _undeclared(change, options)


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


def _undeclared(change: ManifestChange, options: RenderOptions) -> Iterator[str]:
    if change.undeclared or change.incomplete:
        yield "Deployed and in no manifest:"
    if change.undeclared:
        rows = [(subject.kind, code_text(subject.label)) for subject in change.undeclared]
        yield from bounded(("Kind", "Subject"), rows, options)
    if change.incomplete:
        yield f"There may be more: {plain_text(change.incomplete)}."
