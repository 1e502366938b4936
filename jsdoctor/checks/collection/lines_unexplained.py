"""JSD904: errors and warnings in logs that no rule knows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from jsdoctor.checks.logs.words import earliest, latest, times, when, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed
from jsdoctor.model.log import LogEvidence, Occurrence, exemplars_of
from jsdoctor.model.wording import counted

_ERRORS, _WARNINGS = "@unexplained", "@unexplained-warning"
_PANIC = "panic: "
_SHOWN = 3
_WIDEST = 160
_NAMES = re.compile(r"""'[^']*'|"[^"]*"|\[[^\]]*\]|\S*[\d/]\S*|\bN\b""")
"""What distinguishes lines of one wording: quoted names, addresses, ids and paths."""


class _Wording(msgspec.Struct, frozen=True):
    """Lines that say the same of other names and numbers."""

    found: tuple[Occurrence, ...]

    @property
    def count(self) -> int:
        return sum(occurrence.count for occurrence in self.found)

    @property
    def most_frequent(self) -> Occurrence:
        """The line that was logged most often."""
        return max(self.found, key=lambda occurrence: occurrence.count)

    @property
    def text(self) -> str:
        """The words of the most frequent line: numbers are N."""
        text = self.most_frequent.value("reason")
        return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


@check("collection.lines_unexplained_logged")
def lines_unexplained_logged(logs: LogEvidence) -> Iterator[Finding]:
    """One finding for the errors of each log, and one for its warnings, most frequent wording first."""
    by_log: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
    servers = {server.name for server in logs.servers}
    crashed = logs.has_server_logs and any(run.panic for run in logs.runs)
    for occurrence in logs.occurrences(_ERRORS, _WARNINGS):
        if crashed and occurrence.value("reason").startswith(_PANIC):  # JSD805's
            continue
        by_log[occurrence.logged_by, occurrence.signature].append(occurrence)
    for (name, signature), found in sorted(by_log.items()):
        yield _finding(name, _wordings(found), errors=signature == _ERRORS, from_server=name in servers)
    if not by_log:
        yield passed(CLUSTER)


def _wordings(found: Sequence[Occurrence]) -> list[_Wording]:
    alike: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in found:
        alike[_NAMES.sub("*", occurrence.value("reason"))].append(occurrence)
    return sorted((_Wording(tuple(same)) for same in alike.values()), key=lambda wording: -wording.count)


def _finding(name: str, wordings: Sequence[_Wording], *, errors: bool, from_server: bool) -> Finding:
    found = tuple(chain.from_iterable(wording.found for wording in wordings))
    lines = sum(wording.count for wording in wordings)
    first, last = earliest([each.first for each in found]), latest([each.last for each in found])
    what = counted(lines, "error line" if errors else "warning")
    shown = "; ".join(f"{times(wording.count)} “{wording.text}”" for wording in wordings[:_SHOWN])
    more = f"; and {counted(len(wordings) - _SHOWN, 'other wording')}" if len(wordings) > _SHOWN else ""
    return failed(
        Subject(kind="server" if from_server else "client", name=name),
        f"no rule knows {what}{when(first, last)}: {shown}{more}",
        *exemplars_of(tuple(wording.most_frequent for wording in wordings[:_SHOWN])),
        severity=None if errors else Severity.INFO,
        measured=(lines, None, "count"),
        between=(zoned(first), zoned(last)),
        how_to_get="read them in the log, and look for their text in the issues of nats-server",
        unexplained=errors,
    )
