"""Requires consent before anything is changed."""

from __future__ import annotations

import sys

from jsdoctor.collect.problems import UsageProblem


def confirm(what: str, yes: bool) -> None:
    """Prompt on a terminal; elsewhere `--yes` is required. Raises UsageProblem unless the user enters yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageProblem(
            f"to {what} without a terminal for the question, confirm it on the command line", "add --yes"
        )
    sys.stderr.write(f"{what}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageProblem("nothing was changed", "enter y to continue")
