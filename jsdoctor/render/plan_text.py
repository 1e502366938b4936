"""A remediation plan for a person: each step with its effect, its command, its proof and its way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from jsdoctor.model.jetstream import setting_text
from jsdoctor.model.plan import Change, Plan, Step, UnplannedFinding
from jsdoctor.model.rule import Risk
from jsdoctor.model.wording import counted
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
    shown_of: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for group in _groups(plan.steps):
        first = group[0]
        shown_of[first.action] += 1
        if options.max_examples and shown_of[first.action] > options.max_examples:
            left_out[first.action] += len(group)
        else:
            write_step(page, first, plan.api_prefix, group[1:])
    for action, number in left_out.items():
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
    return [list(group) for _, group in groupby(steps, key=lambda step: _said(step) if step.is_manual else step.id)]


def _said(step: Step) -> tuple[object, ...]:
    return (step.action, step.findings, step.effect, step.commands, step.needs)


def write_step(page: Page, step: Step, api_prefix: str, alike: Sequence[Step] = ()) -> None:
    """One step. `alike` are steps after it that say the same of other subjects."""
    page.blank()
    numbers = f"{step.id}-{alike[-1].id}" if alike else step.id
    page.line(
        (f"{numbers}. ", "bold"),
        (step.risk.value, RISK_STYLES[step.risk]),
        (f" {', '.join(precondition.subject.label for precondition in (step, *alike))}", "bold"),
        f" · {step.action}",
    )
    for finding in step.findings:
        page.line(f"Because of {finding}", indent=3)
    page.line(f"{effect_label(step)}: {step.effect}", indent=3)
    _write_losses(page, step)
    for change in step.changes:
        page.line(f"Change: {shown(change)}", indent=3)
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


def shown(change: Change) -> str:
    """`max_bytes: 1048576 -> 2097152`."""
    return f"{change.key}: {setting_text(change.key, change.before)} -> {setting_text(change.key, change.after)}"


def _write_refused(page: Page, refused: Sequence[UnplannedFinding], options: RenderOptions) -> None:
    if not refused:
        return
    page.blank()
    page.line(f"Not planned ({len(refused)}):")
    listed = refused[: options.max_examples or None]
    for refusal in listed:
        page.line(f"{refusal.code} {refusal.subject.label}: {refusal.reason}", indent=2)
    if len(listed) < len(refused):
        page.line(f"and {len(refused) - len(listed):,} more (--format json has all)", indent=2)
