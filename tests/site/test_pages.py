"""The sources of the site, before its generator runs: every text has one page, and the dialect keeps its structure."""

import re
from collections import Counter

from markdown_it import MarkdownIt

from jsdoctor.render.site import rule_url, symptom_url
from tests.support.ruleset import rules
from tools.site.dialect import indented
from tools.site.pages import ROOT, SECTIONS, pages

COMMONMARK = MarkdownIt("commonmark").enable("table")


def test_each_text_of_the_repository_has_one_page() -> None:
    every = pages()
    origins = [page.origin for page in every if page.origin]
    assert len(set(origins)) == len(origins)
    assert len({page.address for page in every}) == len(every)
    texts = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
    texts += [
        file.relative_to(ROOT).as_posix() for folder in ("docs", "rules") for file in ROOT.glob(f"{folder}/**/*.md")
    ]
    assert set(origins) == set(texts)


def test_pages_are_at_the_addresses_that_reports_name() -> None:
    every = pages()
    addresses = {f"/{page.address}/" for page in every}
    assert {rule_url("https://h", rule.code).removeprefix("https://h") for rule in rules()} <= addresses
    assert symptom_url("https://h", "links-down").removeprefix("https://h") in addresses
    assert {page.section for page in every} == set(SECTIONS)


def test_links_to_files_beside_the_site_go_to_the_repository_or_nowhere() -> None:
    def outside(repository: str) -> list[str]:
        text = next(page.text for page in pages(repository) if page.address == "docs/ci")
        return re.findall(r"\]\((https://code\.example[^)]*|\.\./\.\./\.\.[^)]*)\)", text)

    assert outside("") == []
    assert all(
        link.startswith("https://code.example/o/jsdoctor/blob/main/")
        for link in outside("https://code.example/o/jsdoctor")
    )


def test_the_dialect_changes_no_structure() -> None:
    """Read as CommonMark again, a text has the same blocks, but for the indentation of code in lists."""
    for file in [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = file.read_text("utf-8")
        assert blocks(indented(text)) == blocks(text), file.name


def blocks(text: str) -> Counter[str]:
    return Counter(token.type for token in COMMONMARK.parse(text) if token.type != "paragraph_open" or not token.hidden)
