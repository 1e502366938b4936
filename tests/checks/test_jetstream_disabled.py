"""JSD803: servers outside the meta group, and logs of servers that went on without JetStream."""

from __future__ import annotations

from jsdoctor.checks.server_health.jetstream_disabled import disabled_logged
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.log import LogEvidence, LogFile, OutageInterval, ProcessRun
from tests.checks.values import log_time

N1 = Subject(kind="server", name="n1")


def logged(*runs: ProcessRun, intervals: tuple[OutageInterval, ...] = ()) -> list[Finding]:
    files = (LogFile(path="n1.log", size=1, server_lines=1, levels=("INF",)),)
    return list(disabled_logged(LogEvidence(files=files, runs=runs, intervals=intervals)))


def test_it_stays_off_until_the_next_start() -> None:
    def interval(seconds: float, resolved_s: float | None) -> OutageInterval:
        resolved = None if resolved_s is None else log_time(resolved_s)
        began = log_time(seconds)
        return OutageInterval(
            signature="jetstream-out-of-resources",
            logged_by="n1",
            fields=(),
            began=began,
            last=began,
            count=1,
            resolved=resolved,
            log_end=log_time(9_000),
        )

    (lasting,) = logged(intervals=(interval(0, 60), interval(600, None)))
    assert lasting.subject == N1
    assert lasting.severity is None
    assert lasting.message.endswith(". It stays off until the server is started again")
    (over,) = logged(intervals=(interval(0, 60), interval(600, 660)))
    assert over.severity is Severity.WARNING
    assert over.message.endswith(". The server was started again since")
