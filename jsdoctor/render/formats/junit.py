"""The report as JUnit XML, as CI servers read test results: a suite for each rule, a case for each subject.

The dialect is that of Jenkins and GitLab. A finding below `--fail-on` does not fail the run and is therefore no failure
here, but a skipped case with that reason. Complete, never cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from jsdoctor.model.finding import Outcome
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Report, Result, RuleVerdict
from jsdoctor.model.rule import Rule
from jsdoctor.model.wording import counted
from jsdoctor.render.escape import printable
from jsdoctor.render.findings import advice_and_commands, numbers
from jsdoctor.render.incidents import IMPACT_WORDS, Membership, memberships, summary
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order
from jsdoctor.render.places import file_path, places
from jsdoctor.render.wording import rfc3339

SUFFIXES = (".xml",)

_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render(report: Report, options: RenderOptions) -> str:
    """One document. Characters that XML cannot carry are shown as their escapes."""
    root = ET.Element("testsuites", name="jsdoctor")
    results: dict[str, list[Result]] = {}
    for result in by_urgency(report.results):
        results.setdefault(result.rule.code, []).append(result)
    incidents = memberships(report)
    verdicts = {verdict.rule.code: verdict for verdict in report.verdicts}
    for code in sorted(results.keys() | verdicts.keys()):
        listed, verdict = results.get(code, []), verdicts.get(code)
        rule = verdict.rule if verdict else listed[0].rule
        suite = _suite(root, f"{code} {rule.slug}", report)
        _add_incidents(suite, [incidents[id(result)] for result in listed if id(result) in incidents])
        suite.extend([_case_of(result, options, incidents.get(id(result))) for result in listed])
        if verdict:
            suite.extend(_case_for_unlisted(rule, verdict, listed))
    if report.gaps:
        _suite(root, "evidence", report).extend([_case_of_gap(gap, options) for gap in gaps_in_order(report.gaps)])
    for suite in (*root, root):
        _set_counts(suite)
    took_s = max(0.0, (report.finished - report.started).total_seconds())
    root.set("time", f"{took_s:.3f}")
    ET.indent(root)
    encoding = "us-ascii" if options.ascii_only else "utf-8"
    body = ET.tostring(root, encoding=encoding, xml_declaration=False).decode(encoding)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _suite(root: ET.Element, name: str, report: Report) -> ET.Element:
    # The schema of Jenkins takes times without a zone; they are UTC.
    at = rfc3339(report.started.replace(microsecond=0)).removesuffix("Z")
    return ET.SubElement(root, "testsuite", name=printable(name), timestamp=at, time="0")


def _add_incidents(suite: ET.Element, members: Sequence[Membership]) -> None:
    """The incidents whose cause is a finding of this suite, as its properties; the schemas want these first."""
    caused = {member.number: member.incident for member in members if member.consequence is None}
    if caused:
        properties = ET.SubElement(suite, "properties")
        for number, incident in sorted(caused.items()):
            text = f"{IMPACT_WORDS[incident.impact]}: {summary(incident)}"
            ET.SubElement(properties, "property", name=f"incident {number}", value=printable(text))


def _set_counts(suite: ET.Element) -> None:
    cases = list(suite.iter("testcase"))
    suite.set("tests", str(len(cases)))
    for attribute, tag in _COUNTED.items():
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))


def _case(rule: str, subject: str) -> ET.Element:
    return ET.Element("testcase", classname=f"jsdoctor.{printable(rule)}", name=printable(subject), time="0")


def _case_of(result: Result, options: RenderOptions, member: Membership | None) -> ET.Element:
    finding = result.finding
    case = _case(f"{result.rule.code}.{result.rule.slug}", finding.subject.label)
    if finding.outcome is Outcome.FAIL:
        seen = places(finding)
        if seen:
            case.set("file", file_path(seen[0].file))
        if seen and seen[0].line:
            case.set("line", str(seen[0].line))
        fails_run = result.severity.rank >= options.fail_on.rank
        text = finding.message or result.rule.slug
        why_skipped = f"{result.severity.value}, below --fail-on {options.fail_on.value}: "
        if result.suppressed is not None:
            fails_run, why_skipped = False, f"{result.suppressed.words}: "
        _add_result(
            case,
            "failure" if fails_run else "skipped",
            text if fails_run else why_skipped + text,
            _details(result, member),
        )
        case[-1].set("type", result.severity.value)
    elif finding.outcome is Outcome.ERROR:
        _add_result(case, "error", finding.message, ["This is a defect of the rule, not of the deployment."])
        case[-1].set("type", "check-failed")
    elif finding.outcome is not Outcome.PASS:
        _add_skipped(case, f"{_words(finding.outcome)}: {finding.message}", finding.how_to_get)
    return case


def _details(result: Result, member: Membership | None) -> Iterator[str]:
    yield f"{result.severity.value} {result.rule.code} {result.rule.slug}"
    yield result.finding.subject.label
    if measured := numbers(result.finding):
        yield measured
    if member and member.consequence:
        yield f"Explained by: {member.explanation}"
    for place in places(result.finding):
        yield f"{place.file}:{place.line}: {place.text}" if place.line else place.file
    yield from (f"{label}: {command}" for label, command in advice_and_commands(result))
    yield f"Why: jsdoctor explain {result.rule.code}"


def _case_for_unlisted(rule: Rule, verdict: RuleVerdict, listed: Sequence[Result]) -> Iterator[ET.Element]:
    """One case for subjects that passed and are not listed, or for a rule that was evaluated on no subject."""
    name = f"{rule.code}.{rule.slug}"
    shown = sum(result.finding.outcome is Outcome.PASS for result in listed)
    healthy = verdict.subjects.get(Outcome.PASS, 0) - shown
    if healthy > 0 or verdict.outcome is Outcome.PASS:
        case = _case(name, "every other subject" if listed else "every subject")
        ET.SubElement(case, "system-out").text = f"{counted(max(healthy, 0), 'healthy subject')}"
        yield case
    elif not listed:
        case = _case(name, "every subject")
        if verdict.outcome in (Outcome.ERROR, Outcome.FAIL):
            _add_result(case, "error", verdict.reason or _words(verdict.outcome), [])
        else:
            _add_skipped(case, f"{_words(verdict.outcome)}: {verdict.reason}", verdict.how_to_get)
        yield case


def _case_of_gap(gap: Gap, options: RenderOptions) -> ET.Element:
    case = _case(f"evidence.{gap.kind}", gap.subject.label)
    if gap.requested and not options.allow_gaps:
        _add_result(case, "error", f"not seen: {gap.reason}", [gap.how_to_get])
        case[-1].set("type", "gap")
    else:
        _add_skipped(case, f"not seen: {gap.reason}", gap.how_to_get)
    return case


def _add_skipped(case: ET.Element, message: str, how_to_get: str) -> None:
    _add_result(
        case,
        "skipped",
        f"{message.removesuffix(': ')} → {how_to_get}" if how_to_get else message.removesuffix(": "),
        [],
    )


def _add_result(case: ET.Element, tag: str, message: str, details: Sequence[str] | Iterator[str]) -> None:
    element = ET.SubElement(case, tag, message=printable(message))
    element.text = "\n".join(printable(line) for line in details) or None


def _words(outcome: Outcome) -> str:
    """`not evaluated` for `not_evaluated`."""
    return outcome.value.replace("_", " ")
