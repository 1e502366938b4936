"""JSD804, JSD814, JSD819 and JSD826: what lines of servers and applications say, and whether it is over."""

from __future__ import annotations

from typing import Any

from jsdoctor.checks.server_health.client_timeouts import client_timeouts_logged
from jsdoctor.checks.server_health.disk_slow import disk_slow_logged
from jsdoctor.checks.server_health.reload_rejected import reload_rejected_logged
from jsdoctor.checks.server_health.store_damaged import store_damaged_logged
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence, LogFile, Measure, Occurrence, OutageInterval, ProcessRun
from tests.checks.values import lines, log_time, params_of

N1 = Subject(kind="server", name="n1")
STARTED = (ProcessRun(server="n1", started=log_time(0), ready=log_time(0)),)


def evidence(*occurrences: Occurrence, levels: tuple[str, ...] = ("INF",), **more: Any) -> LogEvidence:
    file = LogFile(path="n1.log", size=1, server_lines=1, client_lines=1, servers=("n1",), levels=levels)
    return LogEvidence(files=(file,), found=occurrences, **more)


def slow(signature: str, count: int = 1, took_s: float | None = None, **more: Any) -> Occurrence:
    took = () if took_s is None else (Measure("took", count, 0, int(took_s * 1e9)),)
    return lines(signature, count, measures=took, fields=(("account", "APP"),), **more)


def slowness(*occurrences: Occurrence, runs: tuple[ProcessRun, ...] = ()) -> list[Finding]:
    return list(disk_slow_logged(evidence(*occurrences, runs=runs), params_of("JSD814")))


def test_three_lines_or_ten_seconds_are_a_slow_disk() -> None:
    for occurrences, severity in (
        (slow("readloop-slow", 3, 2), None),
        (slow("readloop-slow", 2, 9.999), Severity.INFO),
        (slow("readloop-slow", 1, 10), None),
    ):
        (finding,) = slowness(occurrences)
        assert finding.severity is severity
        assert finding.subject == N1


def test_while_a_server_starts_only_many_lines_are() -> None:
    for occurrences, severity in ((slow("readloop-slow", 14, 60), Severity.INFO), (slow("readloop-slow", 15, 2), None)):
        (finding,) = slowness(occurrences, runs=STARTED)
        assert finding.severity is severity
        assert finding.message.startswith("it was slow at reading from a connection, up to ")
        assert ", all of it while it started or stopped): " in finding.message


def test_a_snapshot_of_the_meta_group_is_slow_from_a_second_on() -> None:
    quick, long = slow("meta-snapshot-took", 9, 0.999), slow("meta-snapshot-took", 9, 1)
    assert slowness(quick) == slowness(long, runs=STARTED) == [passed(CLUSTER)]
    assert slowness(long)[0].measured == 9
    assert slowness(quick, slow("readloop-slow", 1, 0.5))[0].measured == 10


def test_lines_without_a_length_tell_none() -> None:
    (finding,) = slowness(slow("meta-log-large", 3))
    assert finding.message.startswith(
        "it was slow at the log of the meta group growing too large (logged 3 times by n1"
    )


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


def test_a_reload_that_a_later_one_made_good() -> None:
    over = reloads(refused("a"), refused("b"), intervals=(interval("a", 9), interval("b", 9)))
    assert over.subject == N1
    assert over.severity is Severity.INFO
    assert over.message == (
        "it refused to reload its configuration, a 7; b 7 (logged twice by n1 at 2026-11-21 12:00:00Z); a later reload"
        " or start succeeded"
    )
    for intervals in ((interval("a", 9), interval("b", None)), (interval("a", 9),), ()):
        assert reloads(refused("a"), refused("b"), intervals=intervals).severity is None


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


def test_timeouts_of_an_application_that_logs_into_the_file_of_a_server_that_starts() -> None:
    for signature, severity in (("publish-request-timed-out", None), ("publish-timed-out", Severity.INFO)):
        logs = evidence(lines(signature, 5, seconds=2), runs=STARTED)
        (finding,) = client_timeouts_logged(logs, params_of("JSD826"))
        assert finding.subject == Subject(kind="client", name="n1")
        assert finding.severity is severity


def test_stores_of_raft_groups_are_those_of_the_server() -> None:
    def subject(store: str) -> Subject:
        (finding,) = store_damaged_logged(evidence(lines("store-block-missing", fields=(("store", store),))))
        return finding.subject

    assert [subject(store) for store in ("S-R3F-7QxYz", "C-R1M-aBcDe", "_meta_")] == [N1] * 3
    assert subject("ORDERS") == Subject(kind="stream", name="ORDERS")
