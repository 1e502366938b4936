"""JSD846: which connections that ended count, together with which others, and how often."""

from typing import Any

from jsdoctor.checks.server_health.connections_brief import connections_brief
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome
from tests.checks.values import NOON, after, params_of

STALE = "Stale Connection"


def ended(
    count: int = 6, reason: str = STALE, every_s: float = 10, lived_s: float = 9, last_s: float = 0, **more: Any
) -> list[ClientConnection]:
    """One after the other, the last of them at this moment."""
    stops = [after(seconds=last_s - every_s * number) for number in range(count)]
    values = {"name": "shop", "lang": "go", "reason": reason} | more
    starts = [after(seconds=last_s - every_s * number - lived_s) for number in range(count)]
    return [ClientConnection(start=start, stop=stop, **values) for start, stop in zip(starts, stops, strict=True)]


def listing(
    *closed: ClientConnection, server: str = "n1", open_now: int | None = 1, is_listed: bool = True
) -> ServerConnections:
    opened = None if open_now is None else tuple(ClientConnection(name="shop") for _ in range(open_now))
    return ServerConnections(server=server, at=NOON, open=opened, closed=closed if is_listed else None)


def judged(*servers: ServerConnections, **params: Any) -> list[Finding]:
    occurrences = connections_brief(Connections(servers), params_of("JSD846", **params))
    return [finding for finding in occurrences if finding.outcome is Outcome.FAIL]


def test_what_is_none_of_its_connections() -> None:
    for other in (
        ended(reason="Client Gone"),
        ended(lang=""),
        ended(type="websocket"),
        ended(type="mqtt"),
        ended(name="jsdoctor"),
    ):
        assert judged(listing(*other)) == []
        assert len(judged(listing(*other, *ended()))) == 1
    assert len(judged(listing(*ended(type="nats")))) == 1
    assert len(judged(listing(*ended(reason="Duplicate Client ID", type="mqtt", lang="")))) == 1


def closed(count: int = 25, **more: Any) -> list[ClientConnection]:
    return ended(count, "Client Closed", **more)
