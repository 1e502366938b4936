"""A remediation plan for a person, as text or as Markdown: each step with its effect, command, proof and way back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from jsdoctor.model.jetstream import setting_text
from jsdoctor.model.plan import Change, Plan, Step, UnplannedFinding
from jsdoctor.model.rule import Risk
from jsdoctor.model.wording import counted
from jsdoctor.render.escape import ascii_only
from jsdoctor.render.markdown_text import code_text, plain_text
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.wording import to_the_second, with_login

RISK_STYLES = {
    Risk.SAFE: "bold green",
    Risk.DISRUPTIVE: "bold yellow",
    Risk.DESTRUCTIVE: "bold red",
    Risk.MANUAL: "bold cyan",
}
_CUT_OFF = "(it holds characters that cannot be shown here; --format json has it)"


def render_plan(plan: Plan, options: RenderOptions) -> str:
    """The whole plan as text."""
    page = Page(options)
    page.line(f"jsdoctor {plan.version} · {headline(plan)} · {to_the_second(plan.created)}")
    if plan.headline:
        page.line(f"Looked at {plan.headline}")
    shown_per_action: Counter[str] = Counter()
    left_out_per_action: Counter[str] = Counter()
    for group in _groups(plan.steps):
        first = group[0]
        shown_per_action[first.action] += 1
        if options.max_examples and shown_per_action[first.action] > options.max_examples:
            left_out_per_action[first.action] += len(group)
        else:
            write_step(page, first, plan.api_prefix, group[1:])
    for action, number in left_out_per_action.items():
        page.blank()
        page.line(f"and {number:,} more of {action} (--max-examples 0 shows them)")
    _write_refused(page, plan.refused, options)
    return page.text()


def headline(plan: Plan) -> str:
    """How many steps of which risk."""
    if not plan.steps:
        return "nothing to do" if not plan.refused else "a plan without steps"
    counts = [f"{n} {risk.value}" for risk in Risk if (n := sum(step.risk is risk for step in plan.steps))]
    return f"a plan of {counted(len(plan.steps), 'step')}: {', '.join(counts)}"


def _groups(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps for a person that follow each other and say the same of several subjects are one paragraph."""
    return [
        list(group) for _, group in groupby(steps, key=lambda step: _shared_text(step) if step.is_manual else step.id)
    ]


def _shared_text(step: Step) -> tuple[object, ...]:
    return (step.action, step.findings, step.effect, step.commands, step.needs)


def write_step(page: Page, step: Step, api_prefix: str, same_for_others: Sequence[Step] = ()) -> None:
    """One step. `alike` are steps after it that say the same of other subjects."""
    page.blank()
    numbers = f"{step.id}-{same_for_others[-1].id}" if same_for_others else step.id
    page.line(
        (f"{numbers}. ", "bold"),
        (step.risk.value, RISK_STYLES[step.risk]),
        (f" {', '.join(precondition.subject.label for precondition in (step, *same_for_others))}", "bold"),
        f" · {step.action}",
    )
    for finding in step.findings:
        page.line(f"Because of {finding}", indent=3)
    page.line(f"{effect_label(step)}: {step.effect}", indent=3)
    _write_losses(page, step)
    for change in step.changes:
        page.line(f"Change: {change_text(change)}", indent=3)
    if step.needs:
        page.line(f"After step {', '.join(step.needs)}", indent=3)
    if step.preconditions:
        page.line(
            f"Only if {'; '.join(precondition.text for precondition in step.preconditions)};"
            " and nothing else has changed",
            indent=3,
        )
    for command in step.commands:
        page.verbatim(f"Command{with_login(step.logins, command)}: ", command, _CUT_OFF, indent=3)
    if step.is_manual:
        return
    for request in step.requests:
        page.line((f"Request: {api_prefix}.{request.subject}", "dim"), indent=3)
    for proof in step.proofs:
        page.line(f"Proof: {proof.code} no longer fails on {proof.subject.label}", indent=3)
    if step.better_when:
        page.line(f"Better when: {step.better_when}, within {step.patience_s} s", indent=3)
    page.line(f"Way back: {step.inverse or 'none; it leaves no configuration behind'}", indent=3)


def effect_label(step: Step) -> str:
    """The label of what a step does, or of what a person has to do."""
    return "To do" if step.is_manual else "Effect"


def _write_losses(page: Page, step: Step) -> None:
    for loss in step.losses:
        page.line((f"Loses {loss.text}", "bold red"), indent=3)
        if loss.backup:
            page.line(f"A verified backup of a stream of that name is in {loss.backup}", indent=5)


def change_text(change: Change) -> str:
    """`max_bytes: 1048576 -> 2097152`."""
    return f"{change.key}: {setting_text(change.key, change.before)} -> {setting_text(change.key, change.after)}"


def _write_refused(page: Page, unplanned: Sequence[UnplannedFinding], options: RenderOptions) -> None:
    if not unplanned:
        return
    page.blank()
    page.line(f"Not planned ({len(unplanned)}):")
    listed = unplanned[: options.max_examples or None]
    for refusal in listed:
        page.line(f"{refusal.code} {refusal.subject.label}: {refusal.reason}", indent=2)
    if len(listed) < len(unplanned):
        page.line(f"and {len(unplanned) - len(listed):,} more (--format json has all)", indent=2)


def render_plan_markdown(plan: Plan, options: RenderOptions) -> str:
    """A heading, a section for each step, then what was not planned."""
    sections = [f"## jsdoctor: {plain_text(headline(plan))}"]
    sections.append(plain_text(f"jsdoctor {plan.version} · {to_the_second(plan.created)} · {plan.headline}"))
    for step in plan.steps:
        sections += _step(step, plan.api_prefix)
    if plan.refused:
        sections.append("### Not planned")
        lines = [f"- {item.code} {plain_text(item.subject.label)}: {plain_text(item.reason)}" for item in plan.refused]
        sections.append("\n".join(lines))
    text = "\n\n".join(sections) + "\n"
    return ascii_only(text) if options.ascii_only else text


def _step(step: Step, api_prefix: str) -> Iterator[str]:
    yield f"### {step.id}. {step.risk.value}: {plain_text(step.subject.label)} · {plain_text(step.action)}"
    lines = [f"- Because of {plain_text(finding)}" for finding in step.findings]
    lines.append(f"- {effect_label(step)}: {plain_text(step.effect)}")
    lines += [f"- Loses {plain_text(loss.text)}" for loss in step.losses]
    if step.needs:
        lines.append(f"- After step {', '.join(step.needs)}")
    if step.preconditions:
        lines.append(f"- Only if {plain_text('; '.join(proof.text for proof in step.preconditions))}")
    if not step.is_manual:
        lines += [f"- Request: {plain_text(f'{api_prefix}.{request.subject}')}" for request in step.requests]
        lines += [
            f"- Proof: {proof.code} no longer fails on {plain_text(proof.subject.label)}" for proof in step.proofs
        ]
        if step.better_when:
            lines.append(f"- Better when: {plain_text(step.better_when)}, within {step.patience_s} s")
        lines.append(f"- Way back: {plain_text(step.inverse) or 'none; it leaves no configuration behind'}")
    lines += [f"- {code_text(command)} needs {plain_text(login)}" for command, login in step.logins.items()]
    yield "\n".join(lines)
    if step.changes:
        diff = [
            f"{sign} {change.key}: {setting_text(change.key, side)}"
            for change in step.changes
            for sign, side in (("-", change.before), ("+", change.after))
        ]
        yield _fenced("diff", diff)
    if step.commands:
        yield _fenced("sh", list(step.commands))


def _fenced(language: str, lines: list[str]) -> str:
    """A block that its own text cannot end. What cannot be shown as it is, is not shown."""
    kept = [line for line in lines if line.isprintable()]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", "\n".join(kept))), default=0))
    return "\n".join((f"{fence}{language}", *kept, fence))
