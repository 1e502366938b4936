"""`jsdoctor check` and `capture` as a user runs them, and reading a report."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.warm import jsdoctor_again

Json = dict[str, Any]
_TIMEOUT_S = 120


def run_check(*arguments: str, timeout_s: float = _TIMEOUT_S) -> tuple[int, Json]:
    """Exit code and report. Without `--config`, no configuration of this machine counts."""
    alone = [] if {"--config", "--isolated"} & set(arguments) else ["--isolated"]
    done = jsdoctor_again(["check", *alone, "--format", "json", *arguments], timeout_s)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, f"exit {done.returncode}: {done.stderr}"
    return done.returncode, json.loads(done.stdout)


def run_capture(bundle: Path, *arguments: str) -> None:
    """Write a bundle."""
    done = jsdoctor_again(["capture", "-o", str(bundle), *arguments], _TIMEOUT_S)
    assert done.returncode == 0, done.stderr


def requested(report: Json) -> list[str]:
    """The gaps that make a run inconclusive."""
    return [f"{gap['kind']}: {gap['reason']}" for gap in report["gaps"] if gap["requested"]]


def label(subject: Json) -> str:
    """Account, stream and name of a subject joined by slashes; its kind, where it has none of them."""
    parts = [subject.get("account"), subject.get("stream"), subject.get("name")]
    return "/".join(part for part in parts if part) or str(subject["kind"])


def failures(results: Json | Sequence[Json], subject: str) -> dict[str, str]:
    """Codes and severities of what failed on a subject, by a report or its results."""
    return {
        result["code"]: result["severity"]
        for result in (results["results"] if isinstance(results, dict) else results)
        if result["outcome"] == "fail" and label(result["subject"]) == subject
    }


def failures_of(report: Json, code: str) -> dict[str, str]:
    """Severity of every failure of one rule, by the label of its subject."""
    return {
        label(result["subject"]): result["severity"]
        for result in report["results"]
        if result["code"] == code and result["outcome"] == "fail"
    }
