"""A `fix` plan in the hands of a person: every command that it offers now, run by the real `nats` in its order."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsdoctor.model.commands import changes_something
from tests.real.test_fix_commands import run
from tests.servers import Cluster

Json = dict[str, Any]
ENDLESS = " events "
"""Commands that watch until they are interrupted."""


@dataclass
class Followed:
    """What became of a plan. `refused`: commands that `nats` did not accept, with what it said."""

    steps: list[Json]
    accepted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    waiting: list[Json] = field(default_factory=list)


def plan_of(home: Path, *where: str) -> list[Json]:
    """The steps of `jsdoctor fix` for what `where` names on the command line."""
    path = home / "plan.json"
    path.unlink(missing_ok=True)
    words = [sys.executable, "-m", "jsdoctor", "fix", "--isolated", *where, "-o", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert path.exists(), done.stdout + done.stderr
    steps: list[Json] = json.loads(path.read_text("utf-8"))["steps"]
    return steps


def follow(cluster: Cluster, nats_cli: Path, steps: list[Json]) -> Followed:
    """Run what can be taken now. A step that needs another's effect waits where a person has to take that one."""
    followed = Followed(steps)
    by_hand = {step["id"] for step in steps if step["operation"] == "manual"}
    left: set[str] = set()
    for step in steps:
        if (by_hand | left) & set(step.get("needs", ())):
            left.add(step["id"])
            followed.waiting.append(step)
            continue
        for command in step.get("commands", ()):
            if ENDLESS in command:
                continue
            if refusal := _refusal(cluster, nats_cli, command):
                followed.refused.append(refusal)
            else:
                followed.accepted.append(command)
    return followed


def follow_again(cluster: Cluster, nats_cli: Path, followed: Followed) -> None:
    """Run what was accepted once more, in the state that the plan has made: what looks, and what sets a value.

    Another change, such as a reset or a new election, is for the state of before.
    """
    repeated = [c for c in followed.accepted if not changes_something(c) or " edit " in c]
    followed.refused += filter(None, (_refusal(cluster, nats_cli, command) for command in repeated))


def _refusal(cluster: Cluster, nats_cli: Path, command: str) -> str:
    """The command with what `nats` said where it did not accept it, else nothing."""
    done = run(nats_cli, cluster, command, "sys" if " server " in command else "app")
    refused = done.returncode and not _previewed(command, done.stdout + done.stderr)
    return f"{command}: {done.stdout}{done.stderr}" if refused else ""


def _previewed(command: str, answer: str) -> bool:
    """`nats` exits with 1 from a dry run that would change something, after it has shown the differences."""
    return "--dry-run" in command.split() and "Differences (-old +new)" in answer
