"""What the site has: one page for each rule, symptom, document and decision, with its address."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from jsdoctor.app.rulebook import open_rulebook, open_symptoms
from jsdoctor.model.finding import Impact
from jsdoctor.model.rule import Risk, Rule
from jsdoctor.model.symptom import Symptom
from jsdoctor.render.explain import page_markdown, symptom_markdown
from jsdoctor.render.options import RenderOptions
from tests.support.ruleset import checks, rules
from tools.site.dialect import between, indented, relinked, with_links

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ("Home", "Rules", "Symptoms", "Incidents", "Documents", "Project")
_PROJECT = {"add-a-rule", "style", "glossary", "platforms", "peers"}
_ROW = re.compile(r"^\| (\[[^\]]+\]\([^)]+\)) \| (.+) \| ([^|]+) \|$", re.MULTILINE)
_ENTRANCES = (
    "\n[All rules](rules/index.md) · [All symptoms](symptoms/index.md) · [Public incidents](docs/incidents.md)\n"
)
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
"""Front matter of pages that a user's search does not offer."""

GENERATED = ("rules/index.md", "symptoms/index.md")
ASSETS = ("docs/images/*.svg", "docs/schema/*.json", "docs/words.toml")
"""Files that documents link and that are published as they are."""


class Page(NamedTuple):
    """One page. `address` is its directory on the site, "" for the first page; `origin` its file in the repository."""

    address: str
    title: str
    section: str
    group: str
    summary: str
    text: str
    origin: str = ""

    @property
    def source(self) -> str:
        """Its file among the sources of the site; a page in a directory of its own has that directory as address."""
        return posixpath.join(self.address, "index.md")


@cache
def pages(repository: str = "") -> list[Page]:
    """Every page, with links among each other; *repository* is the address of files that the site has not."""
    drafts = [*_documents(), *_rules(), *_symptoms()]
    sources = {page.origin: page.source for page in drafts if page.origin}
    sources |= {file: file for file in assets()} | {"docs/adr": sources["docs/adr/README.md"]}
    return [page._replace(text=_linked(page, sources, repository)) for page in drafts]


def assets() -> list[str]:
    """Files beside the pages."""
    return sorted(file.relative_to(ROOT).as_posix() for pattern in ASSETS for file in ROOT.glob(pattern))


def _linked(page: Page, sources: dict[str, str], repository: str) -> str:
    def target(link: str) -> str | None:
        path, mark, anchor = link.partition("#")
        if not path or "://" in link or link.startswith("mailto:"):
            return link
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page.origin), path))
        if file in GENERATED:
            return between(page.source, file)
        if file in sources:
            return between(page.source, sources[file]) + mark + anchor
        return f"{repository}/blob/main/{file}{mark}{anchor}" if repository else None

    named = {rule.code: f"rules/{rule.code}/index.md" for rule in rules()}
    named |= {slug: f"symptoms/{slug}/index.md" for slug in _slugs()} if page.section == "Symptoms" else {}
    named = {name: source for name, source in named.items() if source != page.source}
    text = relinked(page.text, target) if page.origin else page.text
    return indented(with_links(text, named, lambda name: between(page.source, named[name])))


def _documents() -> Iterator[Page]:
    first = _document("README.md", "", "Home", "")
    start, mark, rest = first.text.partition("\n## ")
    before, heading, after = rest.partition("## Check your own deployment\n\n")
    tabs = (Path(__file__).parent / "install.md").read_text("utf-8")
    yield first._replace(text=start + _ENTRANCES + mark + before + heading + tabs + _without_fence(after))
    for file in sorted(ROOT.glob("docs/*.md")):
        name = file.stem
        section = "Incidents" if name == "incidents" else "Project" if name in _PROJECT else "Documents"
        yield _document(f"docs/{file.name}", f"docs/{name}", section, "")
    yield _document("CONTRIBUTING.md", "contributing", "Project", "")
    yield _document("CHANGELOG.md", "changelog", "Project", "")
    for file in sorted(ROOT.glob("docs/adr/*.md"), key=lambda file: (file.stem != "README", file.stem)):
        name = "docs/adr" if file.stem == "README" else f"docs/adr/{file.stem}"
        decision = _document(f"docs/adr/{file.name}", name, "Project", "Decisions")
        yield decision._replace(text=_NOT_SEARCHED + decision.text)


def _without_fence(text: str) -> str:
    """The text after its first block of code, which tabs stand for."""
    return text.split("```\n", 1)[1].lstrip("\n")


def _document(origin: str, address: str, section: str, group: str) -> Page:
    text = (ROOT / origin).read_text("utf-8")
    text = re.sub(r"\A(\s*<!--.*?-->)+\s*", "", text, flags=re.DOTALL)
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert title is not None, origin
    return Page(address, title[1].replace("`", ""), section, group, _summary(text), text, origin)


def _rules() -> Iterator[Page]:
    yield Page("rules", "All rules", "Rules", "", "Every rule, by what fails", "\n".join(_rule_index()))
    for rule in rules():
        name = f"{rule.code} {rule.slug}"
        first, *sections = _with_badges(rule).rstrip("\n").split("\n\n## ")
        parameters = [section for section in sections if section.startswith("Parameters\n")]
        detected, *rest = [section for section in sections if section not in parameters]
        parts = [first, detected, *_example(rule), *rest, *_beside(rule), *parameters]
        text = "\n\n## ".join(parts) + "\n"
        yield Page(f"rules/{rule.code}", name, "Rules", _words(rule.failure_mode), rule.title, text, rule.origin)


def _with_badges(rule: Rule) -> str:
    """The page of a rule, its facts as badges: severity, what kind of harm, the evidence that it needs, its remedy."""
    head, body = page_markdown(rule, RenderOptions()).split("\n## ", 1)
    needed = dict.fromkeys(
        kind.source.value for name in rule.checks for kind in checks()[name].required.values() if kind.source
    )
    facts = {"severity": rule.severity.value, "impact": (rule.impact or Impact.RISK).value}
    facts["evidence"] = " or ".join(needed) or "any"
    if rule.remedy:
        facts["remedy"] = "by hand" if rule.remedy.risk is Risk.MANUAL else "jsdoctor fix"
    badges = "".join(
        f'<span class="badge {value}">{name}: {value.replace("_", " ")}</span>\n' for name, value in facts.items()
    )
    title, healthy = head.split("\n- severity", 1)[0].strip().split("\n\n", 1)
    return f'{title}\n\n<p class="badges">\n{badges}</p>\n\n{healthy}\n\n## {body}'


def _example(rule: Rule) -> Iterator[str]:
    """The finding of its first case that fails, as the text report has it."""
    results = (ROOT / "fixtures" / "rules" / rule.code / "results.txt").read_text("utf-8")
    found = re.search(r"^  (critical|error|warning|info) (.+?): (.+)$", results, re.MULTILINE)
    if found:
        yield "\n".join(("Example", "", "```text", f"{found[1]}: {found[2]}", *_wrapped(found[3]), "```"))


def _wrapped(text: str) -> list[str]:
    return wrap(text, 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _rule_index() -> Iterator[str]:
    yield "# All rules"
    for mode, members in groupby(sorted(rules(), key=lambda rule: rule.code), key=lambda rule: rule.failure_mode):
        yield from ("", f"## {_words(mode)}", "", "| rule | severity | healthy state |", "| --- | --- | --- |")
        yield from (f"| {rule.code} {rule.slug} | {rule.severity.value} | {rule.title} |" for rule in members)


def _beside(rule: Rule) -> Iterator[str]:
    """What other pages have on a rule: findings that may explain it, symptoms that lead to it, public incidents."""
    titles = {titled.code: titled.title for titled in rules()}
    lists = {
        "May be explained by": [f"{cause.code}: {titles[cause.code]}" for cause in rule.explained_by],
        "Symptoms": [
            f"[{symptom.title}](../symptoms/{symptom.slug}.md)" for symptom in _book() if rule.code in symptom.causes
        ],
        "Public incidents": [f"{thread}: {what}" for thread, what, codes in _incidents() if rule.code in codes],
    }
    for heading, entries in lists.items():
        if entries:
            yield "\n".join((heading, "", *(f"- {entry}" for entry in entries)))


def _symptoms() -> Iterator[Page]:
    rows = "\n".join(f"| [{_words(symptom.slug)}]({symptom.slug}/index.md) | {symptom.title} |" for symptom in _book())
    index = (
        "# All symptoms\n\nFrom an error text or a state to the rules that can explain it.\n\n"
        f"| symptom | seen as |\n| --- | --- |\n{rows}"
    )
    yield Page("symptoms", "All symptoms", "Symptoms", "", "From an error text or a state to its causes", index)
    rulebook = open_rulebook()
    book = open_symptoms(rulebook)
    for symptom in book.symptoms:
        text = symptom_markdown(symptom, book, rulebook.rules, RenderOptions())
        text = text.replace(f"# {symptom.slug}\n", f"# {_words(symptom.slug)}\n", 1)
        origin = f"rules/symptoms/{symptom.slug}.md"
        yield Page(f"symptoms/{symptom.slug}", _words(symptom.slug), "Symptoms", "", symptom.title, text, origin)


@cache
def _book() -> tuple[Symptom, ...]:
    return tuple(open_symptoms(open_rulebook()).symptoms)


def _slugs() -> list[str]:
    return [symptom.slug for symptom in _book()]


@cache
def _incidents() -> list[tuple[str, str, str]]:
    return _ROW.findall((ROOT / "docs" / "incidents.md").read_text("utf-8"))


def _words(failure_mode: str) -> str:
    return failure_mode.replace("_", " ").replace("-", " ").capitalize()


def _summary(text: str) -> str:
    """The first sentence after the heading, without its markup."""
    paragraph = re.search(r"^# .+\n+((?:[^\n#|`-][^\n]*\n)+)", text, re.MULTILINE)
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)|[*`]", lambda match: match[1] or "", paragraph[1]) if paragraph else ""
    return re.split(r"(?<=[.:])\s", " ".join(plain.split()))[0].rstrip(".:")
