"""A rule page, a symptom page or an error of the JetStream API for a reader: as Markdown, or drawn on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.duration import format_duration
from jsdoctor.model.rule import Param, Rule, RuleStatus, Unit
from jsdoctor.model.symptom import ApiErrorCode, Symptom
from jsdoctor.render.escape import ascii_only, printable
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.site import rule_url, symptom_url


def page_markdown(rule: Rule, options: RenderOptions) -> str:
    """The page as Markdown, with its facts first and its parameters last: for output that is no terminal."""
    return as_markdown(_page(rule, options.docs_url), options)


def as_markdown(lines: Iterable[str], options: RenderOptions) -> str:
    """Lines of Markdown, harmless to a terminal."""
    text = "\n".join(printable(line) for line in "\n".join(lines).splitlines()) + "\n"
    return ascii_only(text) if options.ascii_only else text


def _page(rule: Rule, docs_url: str) -> Iterator[str]:
    yield f"# {rule.code} {rule.slug}"
    yield ""
    yield f"Healthy: {rule.title}."
    yield ""
    yield f"- severity: {rule.severity.value}"
    if rule.status is not RuleStatus.STABLE:
        yield f"- status: {rule.status.value}"
    if rule.remedy:
        yield f"- remedy: `{rule.remedy.action}` ({rule.remedy.risk.value})"
    if address := rule_url(docs_url, rule.code):
        yield f"- page: <{address}>"
    yield ""
    yield rule.body.strip()
    if rule.params:
        yield ""
        yield "## Parameters"
        yield ""
        for param in rule.params.values():
            yield f"- `{param.name}` = {_default(param)}: {param.help}"


def _default(param: Param) -> str:
    """The default as it is written in a configuration."""
    if param.default is None:
        return "not set"
    if param.unit is Unit.DURATION:
        return format_duration(int(param.default))
    return f"{param.default} ({param.unit.value})"


def symptom_markdown(symptom: Symptom, book: SymptomBook, rules: Sequence[Rule], options: RenderOptions) -> str:
    """The page, preceded by its causes, its codes and the texts that identify it."""
    known = {rule.code: rule for rule in rules}
    return as_markdown(_symptom(symptom, book, known, symptom_url(options.docs_url, symptom.slug)), options)


def api_error_markdown(error: ApiErrorCode, book: SymptomBook, rules: Sequence[Rule], options: RenderOptions) -> str:
    """The server's text for that code, the symptom it belongs to, and the rules on it."""
    return as_markdown(_api_error(error, book, rules), options)


def _symptom(symptom: Symptom, book: SymptomBook, rules: dict[str, Rule], address: str) -> Iterator[str]:
    yield f"# {symptom.slug}"
    yield ""
    yield f"{symptom.title}. {symptom.means}"
    yield ""
    if address:
        yield from (f"Page: <{address}>", "")
    yield "## Causes, the most frequent first"
    yield ""
    for code in symptom.causes:
        yield f"- {code} {rules[code].slug}: {symptom.because[code]}"
    yield ""
    yield f"Which of them is yours: `jsdoctor diagnose --symptom {symptom.slug}`"
    yield ""
    if symptom.shown_by:
        yield from (f"What shows that it is this symptom: {symptom.shown_by}", "")
    yield "## How it is recognised"
    yield ""
    for api_code in symptom.matching.codes:
        error = book.api_error(api_code)
        yield f"- API error {api_code}: {error.text if error else ''}"
    for text in symptom.matching.texts:
        yield f"- {text.client}: `{text.examples[0]}`"
    if symptom.matching.signatures:
        yield f"- log signatures: {', '.join(symptom.matching.signatures)}"
    yield ""
    yield symptom.body.strip()
    if symptom.next:
        yield ""
        yield f"Tends to follow: {', '.join(symptom.next)}"


def _api_error(error: ApiErrorCode, book: SymptomBook, rules: Sequence[Rule]) -> Iterator[str]:
    yield f"# API error {error.code}"
    yield ""
    yield f"`{error.text}`"
    yield ""
    yield f"- status: {error.status}"
    yield f"- name in nats-server: {error.name}"
    if error.since:
        yield f"- since: {error.since}"
    if error.help:
        yield f"- {error.help}"
    if "{" in error.text:
        yield "- what stands in braces is filled in by the server"
    symptom = book.of_code(error.code)
    naming = [rule for rule in rules if re.search(rf"\b{error.code}\b", rule.body)]
    if symptom is not None:
        yield ""
        yield f"Symptom: {symptom.slug}, {symptom.title}. {symptom.means}"
        yield ""
        yield f"Which cause is yours: `jsdoctor diagnose --code {error.code}`"
    if naming:
        yield ""
        yield "Rules about it:"
        yield ""
        yield from (f"- {rule.code} {rule.slug}: {rule.title}" for rule in naming)
