"""The findings of a report as text: one block per rule, the subjects under it, each with its numbers and its fix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from jsdoctor.model.commands import changes_something
from jsdoctor.model.finding import Confidence, Finding, Observation, Offer, Subject
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Rule
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.incidents import FindingGroup
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page, Part
from jsdoctor.render.places import places
from jsdoctor.render.plain import compact
from jsdoctor.render.site import rule_url
from jsdoctor.render.wording import distinguishable, quantity, subjects, to_the_second, with_login

CUT_OFF = "(its names hold characters that cannot be shown here; --format json has it)"
_EVIDENCE_SHOWN = 10
_WORD_START = re.compile(r"(?<![\w\"'])[\w\"'$-]")
_GROUPS_SHOWN = 3


def command_label(offer: Offer, command: str) -> str:
    """The label of a command: `Fix (safe)`, or `Look` if it changes nothing, and the login that it still needs."""
    return (f"Fix ({offer.risk})" if changes_something(command) else "Look") + with_login(offer.logins, command)


def advice_and_commands(result: Result) -> list[tuple[str, str]]:
    """What to do first, if there is something, and each command with its label."""
    first = [("Do first", result.finding.advice)] if result.finding.advice else []
    return [*first, *offered(result.remedy)]


def offered(offer: Offer | None) -> list[tuple[str, str]]:
    """Each command with its label."""
    return [(command_label(offer, command), command) for command in offer.commands] if offer else []


def write_block(page: Page, group: FindingGroup, options: RenderOptions, number: str = "") -> None:
    """Write the findings of one rule and one severity in full. `number` stands before the heading."""
    block, severity = group.results, group.severity
    rule = block[0].rule
    page.blank()
    page.line(
        number,
        (severity.value, SEVERITY_STYLES[severity]),
        " ",
        (f"{rule.code} {rule.slug}", "bold"),
        f" · {subjects([result.finding.subject for result in block])}",
    )
    page.line(("Healthy: " + rule.title, "dim"), indent=2)
    shown = block[: options.max_examples] if options.max_examples else block
    for result in shown:
        _write_finding(page, result, options)
    if len(shown) < len(block):
        page.line(_remainder([result.finding.subject for result in block[len(shown) :]]), indent=2)
    page.line(_why_line(rule, options), indent=2)


def _why_line(rule: Rule, options: RenderOptions) -> str:
    address = rule_url(options.docs_url, rule.code)
    return f"Why: jsdoctor explain {rule.code}" + (f" or {address}" if address else "")


def numbers(finding: Finding) -> str:
    """What was measured, how sure that is and the threshold it passed, or an empty string."""
    unit, measured, threshold = finding.unit, finding.measured, finding.threshold
    if measured is None:
        return "" if threshold is None else f"threshold {quantity(threshold, unit)}"
    shown, against = quantity(measured, unit), ""
    if threshold is not None:
        shown, limit = distinguishable(measured, threshold, unit)
        against = f", threshold {limit}"
    error = f" ± {quantity(finding.uncertainty, unit)}" if finding.uncertainty is not None else ""
    return f"measured {shown}{error}{against}"


def _write_finding(page: Page, result: Result, options: RenderOptions) -> None:
    finding = result.finding
    heading: list[Part] = [(finding.subject.label, "bold")]
    if measured := numbers(finding):
        heading.append(f" · {measured}")
    if finding.confidence is not Confidence.HIGH:
        heading.append(f" · {finding.confidence.value} confidence")
    page.line(*heading, indent=2)
    if finding.message:
        page.line(finding.message, indent=4)
    write_place(page, finding, options, indent=4)
    if seen := _times_seen(finding):
        page.line(seen, indent=4)
    _write_evidence(page, finding.evidence, options)
    if finding.advice:
        page.line(f"Do first: {finding.advice}", indent=4)
    for label, command in offered(result.remedy):
        page.verbatim(f"{label}: ", command, CUT_OFF, indent=4)


def write_place(page: Page, finding: Finding, options: RenderOptions, indent: int) -> None:
    """Write the finding's places in configuration files as `file:line:column`, and the first line with a caret.
    Lines of logs have no column and are left out. Columns of a configuration within another document may not count its
    indentation: there is no caret where no word begins.
    """
    written = [place for place in places(finding) if place.column]
    if not written:
        return
    names = dict.fromkeys(f"{place.file}:{place.line}:{place.column}" for place in written)
    page.line(", ".join(list(names)[:_GROUPS_SHOWN]), indent=indent)
    place = written[0]
    if line := options.source_line(place.file, place.line):
        text = line.lstrip()
        at = max((place.column or 1) - 1 - (len(line) - len(text)), 0)
        page.source(f"{place.line:>7} | ", text, at if _WORD_START.match(text, at) else None)


def _times_seen(finding: Finding) -> str:
    moments = (("first seen", finding.first_seen), ("last seen", finding.last_seen))
    return ", ".join(f"{word} {to_the_second(moment)}" for word, moment in moments if moment is not None)


def _write_evidence(page: Page, evidence: Sequence[Observation], options: RenderOptions) -> None:
    shown = evidence if options.verbose > 1 else evidence[:_EVIDENCE_SHOWN]
    for observation in shown:
        at = f" at {to_the_second(observation.at)}" if observation.at else ""
        page.line(
            (f"{observation.source or '?'}: {observation.path} = {compact(observation.value)}{at}", "dim"), indent=4
        )
    if len(shown) < len(evidence):
        page.line((f"and {counted(len(evidence) - len(shown), 'value')} more (-vv)", "dim"), indent=4)


def _remainder(rest: Sequence[Subject]) -> str:
    """`and 9,995 more (APP > ORDERS 9,000, …)`: counted by stream or account if there are several."""
    parents = Counter(parent for subject in rest if (parent := _parent(subject)))
    if len(parents) > 1 and parents.total() == len(rest) and len(rest) > _GROUPS_SHOWN:
        groups = [
            f"{parent} {number:,}" for parent, number in sorted(parents.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
        where = listed(groups, _GROUPS_SHOWN)
    else:
        where = ", ".join(subject.label for subject in rest[:_GROUPS_SHOWN]) + (
            ", …" if len(rest) > _GROUPS_SHOWN else ""
        )
    return f"and {len(rest):,} more ({where})"


def _parent(subject: Subject) -> str:
    parts = [part for part in (subject.account, subject.stream, subject.name) if part]
    return " > ".join(parts[:-1])
