"""A rule page as Markdown; `explain_drawn` draws it on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jsdoctor.model.rule import Param, Rule, RuleStatus, Unit
from jsdoctor.parse.duration import format_duration
from jsdoctor.render.escape import ascii_only, printable
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.site import rule_url


def page_markdown(rule: Rule, options: RenderOptions) -> str:
    """The page as Markdown, its facts in front and its parameters last: what to print where no terminal listens."""
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
    """The default as one would write it in a configuration."""
    if param.default is None:
        return "not set"
    if param.unit is Unit.DURATION:
        return format_duration(int(param.default))
    return f"{param.default} ({param.unit.value})"
