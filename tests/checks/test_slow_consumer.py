"""JSD806: when a count of slow readers grew, who was cut off, and what lines of logs tell of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jsdoctor.checks.server_health.slow_consumer import slow_consumer, slow_consumer_logged
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject
from jsdoctor.model.log import LogEvidence, LogFile, Occurrence
from jsdoctor.model.server import Server, Servers, SlowConsumers
from jsdoctor.model.server_past import PastSample, ServerPast
from jsdoctor.model.server_trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, after, lines, log_time, params_of, server


def counting(count: int, at: datetime = NOON, name: str = "n1", **more: Any) -> Server:
    """A server that has counted so many clients."""
    varz = {"slow_consumers": count, "slow_consumer_stats": SlowConsumers(clients=count)}
    return server(name, at, varz=varz | more)


def past(*readings: Server) -> ServerPast:
    """With another server whose count grows all the time."""
    samples = [
        PastSample(reading.at, (counting(number, reading.at, "n2"), reading), ())
        for number, reading in enumerate(readings)
    ]
    return ServerPast(tuple(samples))


def judged(
    *servers: Server, before: ServerPast | None = None, closed: tuple[ClientConnection, ...] = (), **more: Any
) -> Finding:
    trend = ServerTrend((ServerHistory(servers),))
    listed = Connections((ServerConnections(server="n1", at=NOON, closed=closed),))
    (finding,) = slow_consumer(Servers(servers[-1:]), trend, listed, before, params_of("JSD806", **more))
    return finding


def test_growth_within_the_window_before_the_last_reading_is_recent() -> None:
    edge, outside = after(minutes=-30), after(minutes=-30, microseconds=-1)
    grown = judged(counting(7), before=past(counting(5, edge), counting(7)), recent="30m")
    assert grown.severity is None
    assert grown.message.startswith("slow readers were cut off lately (clients 2); they lose what core NATS sent them")
    for before in (past(counting(5, outside), counting(7)), past(counting(7))):
        assert judged(counting(7), before=before, recent="30m").severity is Severity.INFO
    other = past(counting(0, after(minutes=-9)), counting(0))
    assert judged(counting(0), before=other, recent="30m").outcome is Outcome.PASS


def test_when_the_count_grew_the_last_time() -> None:
    hours = [counting(count, after(hours=h)) for count, h in ((1, -5), (4, -4), (6, -3), (6, -2), (6, 0))]
    finding = judged(counting(6), before=past(*hours), recent="30m")
    assert finding.message == ("slow readers were counted (clients 6), the last between 2026-11-21 08:00 and 09:00 UTC")


def logged(*occurrences: Occurrence, end_s: float = 0) -> Finding:
    files = (LogFile(path="n1.log", size=1, server_lines=1, client_lines=1, last=log_time(end_s)),)
    (finding,) = slow_consumer_logged(LogEvidence(files=files, found=occurrences), params_of("JSD806"))
    return finding


def line(kind: str, address: str = "10.0.0.7", **more: Any) -> Occurrence:
    fields = (("address", address), *((("kind", kind),) if kind else ()))
    return lines("slow-consumer-pending", fields=fields, **more)


def test_links_that_were_too_slow() -> None:
    finding = logged(line("rid", "10.0.0.1"), line("gid", "10.0.0.2"), line("lid", "10.0.0.3"), line("cid"))
    assert finding.subject == Subject(kind="server", name="n1")
    assert finding.message.startswith(
        "it could not write to gateways, leaf nodes, routes of 10.0.0.1, 10.0.0.2, 10.0.0.3 (logged 4 times by n1 at "
    )
    assert finding.severity is Severity.ERROR


def test_clients_are_named_where_a_line_names_them() -> None:
    login = (("login", "APP/mailer"), ("library", "Go:1.51.0"))
    both = logged(line("cid", captured=login), line("", "10.0.0.8", captured=login[:1]))
    assert both.message == (
        "clients were cut off for reading too slowly (logged twice by n1 at 2026-11-21 12:00:00Z), from 10.0.0.7,"
        " 10.0.0.8 (APP/mailer, APP/mailer, Go:1.51.0): they lost what core NATS sent them meanwhile and had to"
        " connect again"
    )


def test_lines_that_do_not_tell_what_was_cut_off() -> None:
    finding = logged(lines("slow-consumer-pending", fields=(("account", "APP"),)))
    assert finding.subject == Subject(kind="server", name="n1")
    assert "the lines do not tell which" in finding.message
