"""Problems that end a run before anything is judged: what is wrong, and what to type next."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818 - what the user has is a problem; whether it is an error, the exit code says
    """Something the user can act on. Never carries a secret; text from servers in it is already made printable.

    `message` says in one sentence what is wrong and where; `hint` says what to do next.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageProblem(Problem):
    """An option, variable, context or file that cannot be used as it is. Nothing was sent. Exit code 2."""


class ConnectProblem(Problem):
    """No server would take us. Exit code 3."""
