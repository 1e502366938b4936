"""JSD804, JSD814, JSD819 and JSD826: what lines of servers and applications say, and whether it is over."""

from __future__ import annotations

from typing import Any

from jsdoctor.checks.server_health.reload_rejected import reload_rejected_logged
from jsdoctor.model.finding import Finding
from jsdoctor.model.log import LogEvidence, LogFile, Occurrence, OutageInterval
from tests.checks.values import lines, log_time


def evidence(*occurrences: Occurrence, levels: tuple[str, ...] = ("INF",), **more: Any) -> LogEvidence:
    file = LogFile(path="n1.log", size=1, server_lines=1, client_lines=1, servers=("n1",), levels=levels)
    return LogEvidence(files=(file,), found=occurrences, **more)


def refused(reason: str, kept: bool = True) -> Occurrence:
    captured = (("reason", f"{reason} 7"),)
    more: dict[str, Any] = {} if kept else {"exemplars": ()}
    return lines("reload-refused", fields=(("reason", f"{reason} N"),), captured=captured, **more)


def interval(reason: str, resolved_s: float | None) -> OutageInterval:
    at = log_time(0)
    resolved = None if resolved_s is None else log_time(resolved_s)
    fields = (("reason", f"{reason} N"),)
    return OutageInterval(
        signature="reload-refused", logged_by="n1", fields=fields, began=at, last=at, count=1, resolved=resolved
    )


def reloads(*occurrences: Occurrence, intervals: tuple[OutageInterval, ...] = (), **more: Any) -> Finding:
    (finding,) = reload_rejected_logged(evidence(*occurrences, intervals=intervals, **more))
    return finding


def test_a_reload_that_nothing_made_good() -> None:
    single = reloads(refused("a"), refused("b"), intervals=(interval("a", 9), interval("b", None)))
    assert single.message == (
        "it refused to reload its configuration, b 7 (logged twice by n1 at 2026-11-21 12:00:00Z); no later line"
        " reports a reload or start that succeeded: it goes on with its old settings; the next start uses the file as"
        " it is now"
    )
    uncertain = reloads(refused("a"), intervals=(interval("a", None),), levels=("ERR",))
    assert uncertain.message.endswith(
        "; the log has no lines of level INF, which would report a later success; until then it goes on with its old"
        " settings; the next start uses the file as it is now"
    )
    assert "configuration, a N (" in reloads(refused("a", kept=False)).message
