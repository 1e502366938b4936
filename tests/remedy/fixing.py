"""Running `jsdoctor fix` as a user does, and what it says."""

import json
from pathlib import Path
from typing import Any

from tests.cli.invoke import jsdoctor

Json = dict[str, Any]


def fix(directory: Path, url: str, *words: str, allow: str = "destructive", journal: str = "journal.jsonl") -> Json:
    """Plan, apply and prove; the document about how the steps ended, with the exit code as `exit`."""
    done = jsdoctor(
        *("fix", "--isolated", "--server", url, "--apply", "--yes", "--format", "json"),
        *("--allow", allow, "--journal", journal, "--interval", "300ms", *words),
        cwd=directory,
        timeout=180,
    )
    assert done.stdout, f"exit {done.returncode}: {done.stderr}"
    return {**json.loads(done.stdout), "exit": done.returncode, "stderr": done.stderr}


def endings(outcome: Json) -> dict[str, str]:
    """How each action ended."""
    return {step["action"]: step["ending"] for step in outcome["steps"]}


def planned(directory: Path, url: str, *words: str) -> Json:
    """The plan, and nothing more."""
    done = jsdoctor(
        *("fix", "--isolated", "--server", url, "--format", "json", "--interval", "300ms", *words),
        cwd=directory,
        timeout=180,
    )
    assert done.stdout, f"exit {done.returncode}: {done.stderr}"
    plan: Json = json.loads(done.stdout)
    return plan
