"""The pages of the rules that a report refers to, as HTML. Their Markdown may hold no HTML and loads no images."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec
from markdown_it import MarkdownIt
from markupsafe import Markup

from jsdoctor.model.report import Report
from jsdoctor.model.rule import Rule
from jsdoctor.render.escape import printable

_PAGES_SHOWN = 80
_CODE = re.compile(r"\bJSD\d{3}\b(?![^<]*</a>)")


class RulePage(msgspec.Struct, frozen=True):
    """One rule's page."""

    code: str
    slug: str
    title: str
    severity: str
    body: Markup


def rule_pages(report: Report) -> list[RulePage]:
    """Of the rules that found something, by code."""
    return pages_of({result.rule.code: result.rule for result in report.failures()})


def pages_of(rules: Mapping[str, Rule]) -> list[RulePage]:
    """The pages of these rules, by code; of very many only the first."""
    shown = dict(sorted(rules.items())[:_PAGES_SHOWN])
    return [_page(rule, frozenset(shown)) for rule in shown.values()]


def _page(rule: Rule, known: frozenset[str]) -> RulePage:
    text = "\n".join(printable(line) for line in rule.body.strip().split("\n"))
    written = _CODE.sub(lambda code: _link(code[0], known), _markdown().render(text))
    body = Markup(written.replace("<h2>", "<h3>").replace("</h2>", "</h3>"))  # noqa: S704 - escaped by markdown-it
    return RulePage(rule.code, rule.slug, rule.title, rule.severity.value, body)


def _link(code: str, known: frozenset[str]) -> str:
    return f'<a href="#rule-{code}">{code}</a>' if code in known else code


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
