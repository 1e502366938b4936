"""Short excerpts of public issues with the cause declared for each, and what `check` and `diagnose` name for one."""

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.evidence import FIXTURES

PUBLIC = FIXTURES / "public"
_SHOWN_FIRST = 3
_GRAVITY = ("critical", "error", "warning")

Run = Callable[..., str]
"""Runs `jsdoctor` with these arguments and returns what it writes to standard output."""


class Excerpt(NamedTuple):
    """A pasted text. One of `any_of`, rules and symptom pages, must be named; none of them: the text is benign."""

    kind: str
    link: str
    any_of: tuple[str, ...]
    text: str


def excerpts() -> Iterator[Excerpt]:
    """All excerpts, in the order of the files."""
    for path in sorted(PUBLIC.glob("*.toml")):
        for entry in tomllib.loads(path.read_text("utf-8"))["excerpt"]:
            yield Excerpt(path.stem, entry["link"], tuple(entry["any_of"]), entry["text"])


def named(excerpt: Excerpt, directory: Path, run: Run) -> list[str]:
    """The first three faults of `check`, the first three causes that `diagnose` confirms and its first three pages."""
    path = directory / "paste.txt"
    path.write_text(excerpt.text, "utf-8")
    report = json.loads(run("check", "--isolated", "--format", "json", str(path)) or "{}")
    diagnosis = json.loads(run("diagnose", "--isolated", "--offline", "--format", "json", str(path)) or "{}")
    confirmed = [cause["code"] for cause in diagnosis.get("causes", ()) if cause["verdict"] == "confirmed"]
    pages = [diagnosis.get("symptom") or "", *(symptom["symptom"] for symptom in diagnosis.get("also", ()))]
    return [*faults(report)[:_SHOWN_FIRST], *confirmed[:_SHOWN_FIRST], *pages[:_SHOWN_FIRST]]


def loud(excerpt: Excerpt, directory: Path, run: Run) -> list[str]:
    """Rules that find something at warning or above in a benign excerpt."""
    path = directory / "paste.txt"
    path.write_text(excerpt.text, "utf-8")
    return faults(json.loads(run("check", "--isolated", "--format", "json", str(path)) or "{}"))


def faults(report: dict[str, Any]) -> list[str]:
    """Codes of the rules that found something at warning or above, gravest first."""
    # JSD901: nothing was read; JSD904: no rule knows it. They name no cause, and are no false alarm either.
    failed = [
        result
        for result in report.get("results", ())
        if result["outcome"] == "fail" and result["severity"] in _GRAVITY and result["code"] not in ("JSD901", "JSD904")
    ]
    return list(
        dict.fromkeys(
            result["code"] for result in sorted(failed, key=lambda result: _GRAVITY.index(result["severity"]))
        )
    )
