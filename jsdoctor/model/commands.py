"""Classifies printed commands: most only read; reports mark the ones that change something."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_CHANGING = frozenset(
    (
        *("add", "edit", "rm", "rmm", "purge", "seal", "copy", "restore", "gateway"),
        *("pause", "resume", "reset", "unpin", "step-down", "balance", "peer-remove", "reload", "put", "del"),
    )
)
_NESTED = ("cluster", "config", "account")
"""Verbs of which the next word says what is done."""
_FLAGS_WITHOUT_VALUE = ("--no-context", "--tlsfirst")


def changes_something(command: str) -> bool:
    """Whether a `nats` or `jsdoctor` command changes a deployment. A dry run and commands of others do not."""
    try:
        words = command.split() if _is_simple(command) else shlex.split(command)
    except ValueError:  # an open quotation mark: the effect is unknown
        return True
    if "--dry-run" in words or len(words) < 2:
        return False
    if words[0] == "jsdoctor":
        return "--apply" in words or words[1] == "rollback"
    verbs = [word for word in words[_end_of_global_flags(words) :] if not word.startswith("-")][1:3]
    if not verbs or words[0] != "nats":
        return False
    return verbs[0] in _CHANGING or (verbs[0] in _NESTED and len(verbs) > 1 and verbs[1] in _CHANGING)


def _end_of_global_flags(words: Sequence[str]) -> int:
    """The place of the first word after the flags of the login."""
    place = 1
    while place < len(words) and words[place].startswith("-"):
        place += 1 if words[place] in _FLAGS_WITHOUT_VALUE or "=" in words[place] else 2
    return place


def _is_simple(command: str) -> bool:
    """Whether spaces alone separate its words: reading a quoted command takes thirty times as long."""
    return command.isascii() and command.isprintable() and not any(mark in command for mark in "'\"\\")
