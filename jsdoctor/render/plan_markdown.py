"""A remediation plan as Markdown, for a change ticket: what changes, as a diff, with command, proof and way back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jsdoctor.model.jetstream import setting_text
from jsdoctor.model.plan import Plan, Step
from jsdoctor.render.escape import ascii_only
from jsdoctor.render.markdown_text import code_text, plain_text
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.plan_text import effect_label, headline
from jsdoctor.render.wording import to_the_second


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
