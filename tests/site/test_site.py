"""The documentation site as its generator builds it: strict, whole, without a request to elsewhere, and searchable."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.html.browser import CHROMIUM, Tab, browser
from tests.support.ruleset import rules
from tools.site.build import GENERATOR, SiteError, build
from tools.site.pages import Page

if not os.environ.get("CI"):
    needs_generator = pytest.mark.skipif(not GENERATOR.exists(), reason="no generator of the site here: make site")
    needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")
else:
    needs_generator = needs_browser = pytest.mark.nightly
pytestmark = [pytest.mark.nightly, needs_generator]

URL = "https://docs.example/jsdoctor/"
REPOSITORY = "https://github.com/OWNER/jsdoctor"  # pages on GitHub must not fetch its figures either
# What makes a browser fetch something when the page is shown; links that a reader clicks may lead elsewhere.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)[^>]+src=\"(https?:)?//|<link[^>]+rel=\"(?!canonical|alternate|next|prev)[^>]*href=\"(https?:)?//|@import|url\((https?:)?//"
)
SEARCH_FIELD = "[...document.querySelectorAll('*')].map((e) => e.shadowRoot?.querySelector('input')).find(Boolean)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Page]]:
    out = tmp_path_factory.mktemp("site") / "site"
    return out, build(out, URL, REPOSITORY, work=tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_each_page_is_there_with_its_title(site: tuple[Path, list[Page]]) -> None:
    out, made = site
    assert {f"rules/{rule.code}" for rule in rules()} <= {page.address for page in made}
    for page in made:
        html = (out / page.address / "index.html").read_text("utf-8")
        assert (out / page.source).read_text("utf-8") == page.text
        if page.section in {"Rules", "Symptoms"}:
            assert f">{page.title}<" in html, page.address


def test_nothing_is_fetched_from_elsewhere(site: tuple[Path, list[Page]]) -> None:
    out, _ = site
    files = [file for suffix in ("html", "css") for file in out.glob(f"**/*.{suffix}")]
    assert len(files) > 200
    assert {file.relative_to(out).as_posix() for file in files if FETCHED.search(file.read_text("utf-8"))} == set()


def test_lists_tables_and_code_are_what_the_repository_shows(site: tuple[Path, list[Page]]) -> None:
    out, made = site
    parser = MarkdownIt("commonmark").enable("table")
    wrong = []
    for page in made:
        tokens = parser.parse(page.text)
        html = (out / page.address / "index.html").read_text("utf-8")
        article = html[html.index("<article") : html.index("</article>")]
        spans = sum(child.type == "code_inline" for token in tokens for child in token.children or ())
        blocks = sum(token.type in {"fence", "code_block"} for token in tokens)
        counts = [sum(token.type == f"{name}_open" for token in tokens) for name in ("list_item", "tr", "td")]
        shown = [len(re.findall(f"<{name}[ >]", article)) for name in ("li", "tr", "td", "pre", "code")]
        if shown != [*counts, blocks, spans + blocks]:
            wrong.append(page.address)
    assert wrong == []


def test_a_page_is_named_by_its_directory(site: tuple[Path, list[Page]]) -> None:
    out, _ = site
    assert f'<link rel="canonical" href="{URL}rules/JSD701/">' in (out / "rules/JSD701/index.html").read_text("utf-8")
    assert f"<loc>{URL}rules/JSD701/</loc>" in (out / "sitemap.xml").read_text("utf-8")
    assert "shim" not in (out / "404.html").read_text("utf-8")


def test_llms_txt_lists_every_page(site: tuple[Path, list[Page]]) -> None:
    out, made = site
    text = (out / "llms.txt").read_text("utf-8")
    assert [page.address for page in made if f"({URL}{page.source})" not in text] == []


def test_a_link_to_nowhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page("", "Home", "Home", "", "", "# Home\n\n[a](nowhere.md)\n")
    monkeypatch.setattr("tools.site.build.pages", lambda _: [page])
    with pytest.raises(SiteError, match=r"nowhere\.md"):
        build(tmp_path / "site", work=tmp_path / "work")
    assert not (tmp_path / "site").exists()


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("address", ["", "rules/JSD701", "rules", "docs/incidents", "symptoms/links-down"])
def test_a_page_opens_from_the_disk_without_errors(
    tab: Tab, site: tuple[Path, list[Page]], address: str, width: int
) -> None:
    tab.open(site[0] / address / "index.html", width=width)
    time.sleep(0.5)  # scripts start after the page is loaded
    assert tab.problems == []
    assert [request for request in tab.requests if not request.startswith(("file:", "data:"))] == []
    assert tab.value("document.documentElement.scrollWidth") <= width


@needs_browser
def test_the_search_finds_a_rule(tab: Tab, site: tuple[Path, list[Page]]) -> None:
    tab.open(site[0] / "index.html")
    tab.value("document.querySelector('.md-search__button').click()")
    until(tab, f"Boolean({SEARCH_FIELD})")
    for letter in "meta-leader-missing":
        tab.press(letter)
    hits = f"[...({SEARCH_FIELD}).getRootNode().querySelectorAll('a')].map((hit) => hit.href)"
    until(tab, f"{hits}[0]?.includes('/rules/JSD701/index.html')")  # the hits of what is typed so far come first
    assert tab.value(f"({SEARCH_FIELD}).value") == "meta-leader-missing"
    assert tab.problems == []


def until(tab: Tab, condition: str) -> None:
    deadline = time.monotonic() + 20
    while not tab.value(condition):
        assert time.monotonic() < deadline, condition
        time.sleep(0.1)
