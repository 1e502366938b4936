"""One server's log tells the same story in whatever wrapping it comes: a fault that ended, and a crash."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.model.log import LogEvidence
from tests.support.log_cases import evidence_of_files
from tests.support.ruleset import run_rule

Wrap = Callable[[datetime, str], str]
BEGAN = datetime(2026, 11, 21, 10, tzinfo=UTC)
START = ("Starting nats-server", "  Version:  2.12.8", "  Name:     n1", "Server is ready")
PANIC = ("panic: runtime error: invalid memory address", "", "goroutine 1 [running]:", "main.main()")


def _iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000000000Z")


def _json(**fields: object) -> str:
    return json.dumps(fields, separators=(",", ":"))


WRAPPINGS: dict[str, Wrap] = {
    "plain": lambda _, line: line,
    "syslog": lambda at, line: f"{at:%b %d %H:%M:%S} host1 nats-server[812]: {line}",
    "journalctl -o short-iso": lambda at, line: f"{at:%Y-%m-%dT%H:%M:%S+0000} host1 nats-server[812]: {line}",
    "RFC 5424": lambda at, line: f"<14>1 {at:%Y-%m-%dT%H:%M:%S.000Z} host1 nats-server 812 - - {line}",
    "container runtime": lambda at, line: f"{_iso(at)} stderr F {line}",
    "kubectl logs --timestamps": lambda at, line: f"{_iso(at)} {line}",
    "docker": lambda at, line: _json(log=f"{line}\n", stream="stderr", time=_iso(at)),
    "fluent-bit": lambda at, line: _json(time=_iso(at), log=line, kubernetes={"pod_name": "nats-0"}),
    "journald JSON": lambda at, line: _json(
        _HOSTNAME="host1",
        SYSLOG_IDENTIFIER="nats-server",
        __REALTIME_TIMESTAMP=str(int(at.timestamp() * 1e6)),
        MESSAGE=line,
    ),
    "stern": lambda _, line: f"nats-0 nats {line}",
    "stern -t": lambda at, line: f"nats-0 nats {_iso(at)} {line}",
    "stern, several namespaces": lambda _, line: f"default nats-0 nats {line}",
}


def _native(at: datetime, text: str, level: str = "INF", pid: int = 7) -> str:
    return f"[{pid}] {at:%Y/%m/%d %H:%M:%S}.000000 [{level}] {text}"


def _quiet_day() -> Iterator[tuple[datetime, str]]:
    """A start, three failed health checks after five minutes, and five hours of clients that come and go."""
    yield from ((BEGAN, _native(BEGAN, text)) for text in START)
    for number in range(3):
        at = BEGAN + timedelta(minutes=5, seconds=10 * number)
        yield at, _native(at, "Healthcheck failed: \"JetStream stream 'A > S' is not current\"", "WRN")
    for minute in range(6, 300):
        at = BEGAN + timedelta(minutes=minute)
        yield at, _native(at, f"10.0.0.1:5222 - cid:{minute} - Client connection closed: Client Closed")


def _crash() -> Iterator[tuple[datetime, str]]:
    yield from _quiet_day()
    at = BEGAN + timedelta(minutes=300)
    yield from ((at, text) for text in PANIC)
    yield from ((at, _native(at, text, pid=8)) for text in START)


def _read(path: Path, lines: Iterator[tuple[datetime, str]], wrap: Wrap, code: str) -> list[str]:
    path.write_text("".join(wrap(at, line) + "\n" for at, line in lines))
    results = run_rule(code, evidence_of_files(path)).results
    failed = [result for result in results if result.finding.outcome is Outcome.FAIL]
    return [f"{each.severity.value} {each.finding.subject.label}: {each.finding.message}" for each in failed]


@pytest.mark.parametrize("name", WRAPPINGS)
def test_a_fault_that_ended_hours_ago_is_told_as_such(tmp_path: Path, name: str) -> None:
    [told] = _read(tmp_path / "nats.log", _quiet_day(), WRAPPINGS[name], "JSD801")
    assert told.startswith("info n1: its health check failed")


@pytest.mark.parametrize("name", [name for name in WRAPPINGS if name not in ("stern -t", "stern, several namespaces")])
def test_a_panic_is_a_crash_and_no_kill(tmp_path: Path, name: str) -> None:
    """Stern writes names before lines that are no server's; those of a pod and its container are known."""
    [told] = _read(tmp_path / "nats.log", _crash(), WRAPPINGS[name], "JSD805")
    assert told.startswith(f"error n1: it crashed once, last with `{PANIC[0]}")


def test_december_is_before_january_in_a_log_without_years(tmp_path: Path) -> None:
    """The outage is over, and was no year long."""
    path = tmp_path / "syslog"
    path.write_text(
        "Dec 31 23:58:20 host1 nats-server[812]: JetStream cluster no metadata leader\n"
        "Jan  1 00:00:30 host1 nats-server[812]: JetStream cluster new metadata leader: n1/C1\n"
        "Jan  1 01:30:00 host1 nats-server[812]: 10.0.0.1:5222 - cid:7 - Client connection closed: Client Closed\n"
    )
    written = datetime(2027, 1, 1, 1, 30, tzinfo=UTC).timestamp()
    os.utime(path, (written, written))
    logs = evidence_of_files(path).get(LogEvidence)
    assert logs is not None
    assert logs.files[0].first is not None
    assert str(logs.files[0].first) == "2026-12-31 23:58:20 (local time)"
