"""The sources of the site, before its generator runs: every text has one page, and the dialect keeps its structure."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from jsdoctor.render.site import rule_url, symptom_url
from tests.site.build import llms_txt, settings
from tests.site.dialect import indented, relinked, with_links
from tests.site.pages import ROOT, SECTIONS, pages
from tests.support.ruleset import rules

PAGES = pages()
COMMONMARK = MarkdownIt("commonmark").enable("table")


def test_each_text_of_the_repository_has_one_page() -> None:
    origins = [page.origin for page in PAGES if page.origin]
    assert len(set(origins)) == len(origins)
    assert len({page.address for page in PAGES}) == len(PAGES)
    texts = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
    texts += [
        file.relative_to(ROOT).as_posix() for folder in ("docs", "rules") for file in ROOT.glob(f"{folder}/**/*.md")
    ]
    assert set(origins) == set(texts)


def test_pages_are_at_the_addresses_that_reports_name() -> None:
    addresses = {f"/{page.address}/" for page in PAGES}
    assert {rule_url("https://h", rule.code).removeprefix("https://h") for rule in rules()} <= addresses
    assert symptom_url("https://h", "links-down").removeprefix("https://h") in addresses
    assert {page.section for page in PAGES} == set(SECTIONS)


def test_links_to_files_beside_the_site_go_to_the_repository_or_nowhere() -> None:
    def outside(repository: str) -> list[str]:
        text = next(page.text for page in pages(repository) if page.address == "docs/ci")
        return re.findall(r"\]\((https://code\.example[^)]*|\.\./\.\./\.\.[^)]*)\)", text)

    assert outside("") == []
    assert all(
        link.startswith("https://code.example/o/jsdoctor/blob/main/")
        for link in outside("https://code.example/o/jsdoctor")
    )


def test_llms_txt_lists_every_page_below_the_address() -> None:
    listed = re.findall(r"^- \[.+?\]\((\S+)\)", llms_txt(PAGES, "https://docs.example/j/"), re.MULTILINE)
    assert Counter(listed) == Counter(f"https://docs.example/j/{page.source}" for page in PAGES)
    assert "(rules/JSD701/index.md): " in llms_txt(PAGES, "")


def test_the_settings_are_toml_and_name_every_page() -> None:
    project = tomllib.loads(settings(PAGES, "https://docs.example/", ""))["project"]
    named = re.findall(r"'([^']*index\.md)'", str(project["nav"]))
    assert Counter(named) == Counter(page.source for page in PAGES)
    assert project["site_url"] == "https://docs.example/"
    assert "repo_url" not in tomllib.loads(settings(PAGES, "", "https://github.com/OWNER/jsdoctor"))["project"]
    assert project["theme"]["font"] is False


def test_texts_are_not_kept_twice() -> None:
    assert "/build/" in (ROOT / ".gitignore").read_text("utf-8")
    assert not list((ROOT / "docs").glob("**/JSD*.md"))


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("a\n- b\n- c", "a\n\n-   b\n-   c"),
        ("1. a\n   b\n\n   ```sh\n   c\n   ```\n2. d", "1.  a\n    b\n\n    ```sh\n    c\n    ```\n2.  d"),
        ("- a\n  - b\n    c", "-   a\n    -   b\n        c"),
        ("- a\nlazy", "-   a\n    lazy"),
        ("```permissions scan\na\n```", "```permissions\na\n```"),
        ("```\n- a\n  - b\n```", "```\n- a\n  - b\n```"),
    ],
)
def test_lists_and_fences_in_the_dialect(written: str, taken: str) -> None:
    assert indented(written) == taken


def test_the_dialect_changes_no_structure() -> None:
    """Read as CommonMark again, a text has the same blocks, but for the indentation of code in lists."""
    for file in [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = file.read_text("utf-8")
        assert blocks(indented(text)) == blocks(text), file.name


def blocks(text: str) -> Counter[str]:
    return Counter(token.type for token in COMMONMARK.parse(text) if token.type != "paragraph_open" or not token.hidden)


def test_codes_in_prose_become_links_and_nothing_else_does() -> None:
    text = "# JSD101\n\nSee JSD101 and `JSD101`, [JSD101 `x`](JSD101.md), XJSD101, JSD101-a.\n\n```\nJSD101\n```\n"
    changed = with_links(text, {"JSD101"}, lambda name: f"{name}/index.md")
    assert changed == text.replace("See JSD101 ", "See [JSD101](JSD101/index.md) ")


def test_links_in_code_stay() -> None:
    text = "[a](b.md) `[a](b.md)`\n\n```\n[a](b.md)\n```\n"
    assert relinked(text, lambda _: None).count("[a](b.md)") == 2
    assert relinked(text, lambda link: "c/" + link).startswith("[a](c/b.md)")


def test_the_workflow_publishes_what_make_site_builds() -> None:
    workflow = Path(ROOT / ".github" / "workflows" / "site.yml").read_text("utf-8")
    assert "make site" in workflow
    assert "path: build/site" in workflow
