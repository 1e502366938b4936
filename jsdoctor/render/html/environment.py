"""The templates of the HTML report, with autoescape, and the pages of rules; no text brings HTML or loads images."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from jsdoctor.model.jetstream import setting_text
from jsdoctor.model.report import Report
from jsdoctor.model.rule import Rule
from jsdoctor.render.escape import printable, shortened
from jsdoctor.render.findings import offered
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.plain import compact
from jsdoctor.render.unseen import is_command
from jsdoctor.render.wording import quantity, to_the_second, to_the_second_us, with_login

_TEMPLATES = PackageLoader("jsdoctor.render.html")


@cache
def environment() -> Environment:
    """Loads `jsdoctor/render/html/templates`, wherever the package is installed."""
    configured = Environment(
        loader=_TEMPLATES,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable_text,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    configured.filters |= {
        "quantity": quantity,
        "second": to_the_second,
        "moment": to_the_second_us,
        "brief": shortened,
        "compact": compact,
        "offered": offered,
        "is_command": is_command,
        "setting": setting_text,
        "needed": with_login,
    }
    return configured


def plain_page(template: str, options: RenderOptions, **values: object) -> str:
    """A page without timeline and rule pages, with the style and the script of all pages."""
    style, script = asset("page.css"), asset("page.js")
    text = (
        environment()
        .get_template(template)
        .render(
            **values,
            pages=(),
            style=style,
            script=script,
            policy=policy(style, script),
            timeline_json=Markup('{"lanes": []}'),
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode() if options.ascii_only else text


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy: nothing is loaded or sent, and only this file's style and script run."""
    return (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def asset(name: str) -> Markup:
    """A style sheet or script of the package. Both are ASCII, so that no encoding changes their digests."""
    return Markup(_TEMPLATES.get_source(environment(), name)[0])  # noqa: S704 - a file of this package


def digest(text: str) -> str:
    """The source expression by which a Content-Security-Policy allows exactly this text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _printable_text(value: object) -> object:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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
    """The pages of the rules with findings, by code."""
    return pages_of({result.rule.code: result.rule for result in report.failures()})


def pages_of(rules: Mapping[str, Rule]) -> list[RulePage]:
    """The pages of these rules, by code; at most `_PAGES_SHOWN`."""
    shown = dict(sorted(rules.items())[:_PAGES_SHOWN])
    return [_page(rule, frozenset(shown)) for rule in shown.values()]


def _page(rule: Rule, known: frozenset[str]) -> RulePage:
    text = "\n".join(printable(line) for line in rule.body.strip().split("\n"))
    written = _CODE.sub(
        lambda code: f'<a href="#rule-{code[0]}">{code[0]}</a>' if code[0] in known else code[0],
        _markdown().render(text),
    )
    body = Markup(written.replace("<h2>", "<h3>").replace("</h2>", "</h3>"))  # noqa: S704 - escaped by markdown-it
    return RulePage(rule.code, rule.slug, rule.title, rule.severity.value, body)


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
