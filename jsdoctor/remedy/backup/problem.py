"""Why a stream could not be backed up, verified or restored."""

from __future__ import annotations


class BackupProblem(Exception):  # noqa: N818 - as other problems: it is the user's, not an error of ours
    """What went wrong, in one sentence, and in `hint` what to do about it. Text of servers in it is not escaped."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message
