"""Writes the sources of the site, runs its generator, and adds llms.txt and the Markdown texts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from tools.site.pages import ROOT, SECTIONS, Page, assets, pages

HERE = Path(__file__).resolve().parent
WORK = ROOT / ".cache" / "site"
GENERATOR = ROOT / ".cache" / "site-venv" / "bin" / "zensical"
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_SHIM = re.compile(r'(<script[^>]* src=")https://[^"]*iframe-worker[^"]*(")')


_CANONICAL = re.compile(r'(<link rel="canonical" href="[^"]*/)index\.html(?=")')


class SiteError(Exception):
    """The generator has refused the site: a link to nowhere, or a setting that it does not know."""


def build(out: Path, url: str = "", repository: str = "", work: Path = WORK) -> list[Page]:
    """Build the site into *out*, which is replaced. Raises `SiteError`."""
    made = pages(repository)
    shutil.rmtree(work, ignore_errors=True)
    sources = work / "sources"
    for page in made:
        _write(sources / page.source, page.text)
    for file in assets():
        _write(sources / file, (ROOT / file).read_text("utf-8"))
    _write(sources / "assets" / "site.css", (HERE / "site.css").read_text("utf-8"))
    _write(sources / "assets" / "shim.js", (HERE / "shim.js").read_text("utf-8"))
    _write(sources / "llms.txt", llms_txt(made, url))
    _write(work / "zensical.toml", settings(made, url, repository))
    done = subprocess.run(
        [GENERATOR, "build", "--strict", "--clean"], cwd=work, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SiteError(_COLOR.sub("", done.stdout + done.stderr))
    for page in made:
        _localise(work / "html" / page.source.replace("index.md", "index.html"), page)
        _write(work / "html" / page.source, page.text)
    _finish(work / "html")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(work / "html", out)
    return made


def settings(made: Iterable[Page], url: str, repository: str) -> str:
    """The settings of the generator with address and navigation."""
    own = [f"site_url = {json.dumps(url)}"] if url else []
    # As an entry of the navigation: with `repo_url`, pages fetch the repository's figures from GitHub.
    navigation = [*_navigation(made), *([{"Source": repository}] if repository else [])]
    own += [f"nav = {_toml(navigation)}"]
    return (HERE / "zensical.toml").read_text("utf-8").replace("[project]\n", "[project]\n" + "\n".join(own) + "\n", 1)


def _navigation(made: Iterable[Page]) -> Iterator[dict[str, Any]]:
    for section in SECTIONS:
        members = [page for page in made if page.section == section]
        if len(members) == 1:
            yield {section: members[0].source}
            continue
        entries: list[Any] = []
        for group, inner in groupby(members, key=lambda page: page.group):
            named = [{page.title: page.source} for page in inner]
            entries += [{group: named}] if group else named
        yield {section: entries}


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def llms_txt(made: Iterable[Page], url: str) -> str:
    """The list of all pages for language models (llmstxt.org). Addresses are relative where the site has none yet."""
    base = url.rstrip("/") + "/" if url else ""
    lines = ["# jsdoctor", "", "> jsdoctor diagnoses NATS JetStream: one rule per documented cause.", ""]
    lines += ["Each address is the page as Markdown; without its last part, index.md, it is the page for people."]
    for section in SECTIONS:
        lines += ["", f"## {section}", ""]
        for page in (page for page in made if page.section == section):
            lines.append(f"- [{page.title}]({base}{page.source})" + (f": {page.summary}" if page.summary else ""))
    return "\n".join(lines) + "\n"


def _localise(file: Path, page: Page) -> None:
    """Take the one script that comes from elsewhere from the site itself, and name the page by its directory."""
    up = "../" * (len(Path(page.source).parts) - 1)
    text = _SHIM.sub(rf"\g<1>{up}assets/shim.js\g<2>", file.read_text("utf-8"))
    file.write_text(_CANONICAL.sub(r"\1", text), "utf-8")


def _finish(html: Path) -> None:
    """Name each page by its directory, as reports do; the page for wrong addresses is never read from the disk."""
    wrong = html / "404.html"
    wrong.write_text(re.sub(_SHIM.pattern + r"[^>]*></script>", "", wrong.read_text("utf-8")), "utf-8")
    sitemap = html / "sitemap.xml"
    sitemap.write_text(sitemap.read_text("utf-8").replace("/index.html</loc>", "/</loc>"), "utf-8")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
