"""JSD806: when a count of slow readers grew, who was cut off, and what lines of logs tell of it."""

from datetime import datetime
from typing import Any

from jsdoctor.checks.server_health.slow_consumer import slow_consumer
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Severity
from jsdoctor.model.server import Server, Servers, SlowConsumers
from jsdoctor.model.server_past import PastSample, ServerPast
from jsdoctor.model.trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, after, params_of, server


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
