"""What jsdoctor sent to a server, from the server's own protocol trace (`trace: true`)."""

import re
from pathlib import Path

_OURS = re.compile(r'cid:(\d+) .*<<- \[CONNECT .*"name": ?"jsdoctor"')
_SENT = re.compile(r"cid:(\d+) .*<<- \[(H?PUB|SUB) (\S+)")
_VIOLATION = re.compile(r"cid:(\d+) .*Violation.*")


class Trace:
    """The trace of one server since it was made."""

    def __init__(self, log: Path) -> None:
        self._log, self._from = log, log.stat().st_size

    def _lines(self) -> str:
        with self._log.open("rb") as file:
            file.seek(self._from)
            return file.read().decode(errors="replace")

    def _matches(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        lines = self._lines()
        ours = set(_OURS.findall(lines))
        return [match for match in pattern.finditer(lines) if match[1] in ours]

    def published(self) -> set[str]:
        """Subjects that connections of jsdoctor published to, denied ones too."""
        return {match[3] for match in self._matches(_SENT) if match[2] != "SUB"}

    def subscribed(self) -> set[str]:
        """Subjects that they subscribed to."""
        return {match[3] for match in self._matches(_SENT) if match[2] == "SUB"}

    def violations(self) -> list[str]:
        """What the server denied them."""
        return [match[0] for match in self._matches(_VIOLATION)]
