"""Pages from disk: rules and symptoms that jsdoctor ships, and rules that a user adds with `--rules DIR`."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import tomli

import jsdoctor
from jsdoctor.engine.loader import PageText
from jsdoctor.model.defect import Defect, KnownDefects
from jsdoctor.model.release import KnownReleases
from jsdoctor.model.rule import Signature
from jsdoctor.model.typed import convert_to

_GO_VERB = re.compile(r"%[-+#0]*\d*(?:\.\d+)?[a-zA-Z]")


def rules_directory() -> Path:
    """Where the shipped pages lie: inside an installed package as `_rules`, in a checkout as `rules` beside it."""
    package = Path(jsdoctor.__file__).parent
    installed = package / "_rules"
    return installed if installed.is_dir() else package.parent / "rules"


def shipped_pages() -> Iterator[PageText]:
    """Every rule page that comes with jsdoctor."""
    root = rules_directory()
    for path in sorted(root.glob("*/*.md")):
        if path.parent.name != "symptoms":
            yield PageText(f"rules/{path.parent.name}/{path.name}", path.parent.name, path.read_text("utf-8"))


def symptom_pages() -> Iterator[PageText]:
    """Every symptom page that comes with jsdoctor."""
    for path in sorted((rules_directory() / "symptoms").glob("*.md")):
        yield PageText(f"rules/symptoms/{path.name}", "symptoms", path.read_text("utf-8"))


def api_errors() -> bytes:
    """The errors of the JetStream API, as JSON."""
    return (rules_directory() / "api_errors.json").read_bytes()


def vocabulary() -> PageText:
    """The words in which people complain, as TOML."""
    return PageText("rules/sentences.toml", "symptoms", (rules_directory() / "sentences.toml").read_text("utf-8"))


@cache
def known_defects() -> KnownDefects:
    """The defects of server versions that jsdoctor ships."""
    result = tomli.loads((rules_directory() / "defects.toml").read_text("utf-8"))
    return KnownDefects(tuple(convert_to(entry, Defect) for entry in result["defect"]))


@cache
def known_releases() -> KnownReleases:
    """What changes between releases of nats-server."""
    return convert_to(tomli.loads((rules_directory() / "releases.toml").read_text("utf-8")), KnownReleases)


@cache
def known_lines() -> tuple[Signature, ...]:
    """Warnings of healthy servers that no rule has to judge, as signatures that nothing reads."""
    listed = tomli.loads((rules_directory() / "known_lines.toml").read_text("utf-8"))["known"]
    return tuple(_signature_of(template) for group in listed for template in group["templates"])


def _signature_of(template: str) -> Signature:
    """The signature of a Go format string. Its longest piece is the literal; any text matches a value."""
    pieces = _GO_VERB.split(template)
    pattern = ".{0,200}?".join(map(re.escape, pieces))
    return Signature(name="@known", contains=max(pieces, key=len), pattern=pattern, levels=("WRN",))


def user_pages(directories: Iterable[Path]) -> Iterator[PageText]:
    """Every page below the given directories. Raises `OSError` or `UnicodeDecodeError` for one that cannot be read."""
    for directory in directories:
        if not directory.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "no such directory", str(directory))
        for path in sorted(directory.rglob("*.md")):
            if path.name[:1].isupper() and path.name != "README.md":
                yield PageText(str(path), path.parent.name, path.read_text("utf-8"), shipped=False)
