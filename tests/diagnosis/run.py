"""`jsdoctor diagnose` in this process, for tests that run it many times."""

import json
from pathlib import Path
from typing import Any

from jsdoctor.cli.app import run

Json = dict[str, Any]


def diagnosed(directory: Path, *arguments: str) -> tuple[int, Json]:
    """Exit code and document."""
    answer = directory / "answer.json"
    answer.unlink(missing_ok=True)
    code = run(["diagnose", "--format", "json", "-o", str(answer), "--isolated", *arguments])
    document: Json = json.loads(answer.read_text("utf-8"))
    return code, document


def with_verdict(document: Json, verdict: str) -> dict[str, str]:
    """The causes of one verdict, by code, with what is said of them."""
    return {cause["code"]: cause["message"] for cause in document["causes"] if cause["verdict"] == verdict}


def confirmed(document: Json) -> dict[str, str]:
    """The causes that are confirmed."""
    return with_verdict(document, "confirmed")
