"""JSD846: which connections that ended count, together with which others, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.checks.server_health.connections_brief import connections_brief
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Severity
from tests.checks.values import NOON, after, params_of

STALE, READ = "Stale Connection", "Read Error"


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


@pytest.mark.parametrize("reason", ["Stale Connection", "Read Error", "Write Error", "Duplicate Client ID"])
def test_reasons_of_connections_that_broke(reason: str) -> None:
    (finding,) = judged(listing(*ended(30, reason)))
    assert finding.severity is None
    assert f"one after the other ({reason}: " in finding.message
    cause = finding.message.partition(f"{reason}: ")[2]
    if reason.endswith("Error"):
        assert cause == "the connection was reset, by the client's host or by something between)"
    elif reason == STALE:
        assert cause == (
            "the client does not respond to PING, as when its event loop is blocked or something between drops what it"
            " sends)"
        )
    else:
        assert cause == (
            "another MQTT client connects with the same client ID, and each closes the other's connection)"
        )


def test_each_reason_is_told() -> None:
    (finding,) = judged(listing(*ended(8, "Duplicate Client ID"), *ended(8, STALE, last_s=-200)))
    assert finding.message.partition("(")[2].startswith("Stale Connection: the client does not respond")
    assert " what it sends; Duplicate Client ID: another MQTT client" in finding.message


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


def test_lists_of_all_servers_count_together() -> None:
    (finding,) = judged(listing(*ended(6)), listing(*ended(1, last_s=-100), server="n2"))
    assert finding.measured == 7
    assert [o.source for o in finding.evidence] == ["n1"] * 4 + ["n2"] * 4
    missing = listing(is_listed=False, server="n0")
    assert len(judged(missing, listing(*ended()))) == 1


def test_each_client_of_that_name_lost_its_connection_so_often() -> None:
    assert judged(listing(*ended(10), open_now=2))[0].severity is None
    shared = judged(listing(*ended(10), open_now=3))[0]
    assert shared.severity is Severity.INFO
    assert ", 3 of that name are open (" in shared.message
    assert "of that name" not in judged(listing(*ended(5), open_now=1))[0].message
    assert judged(listing(*ended(5), open_now=0))[0].severity is None
    for unlisted in (listing(*ended(10), open_now=None), listing(server="n2", open_now=None)):
        assert judged(listing(*ended(10)), unlisted)[0].severity is Severity.INFO


def test_resets_count_for_certain_only_where_they_are_frequent() -> None:
    for reason in (READ, "Write Error"):
        assert judged(listing(*ended(24, reason)))[0].severity is Severity.INFO
        assert judged(listing(*ended(25, reason), open_now=5))[0].severity is None
    assert judged(listing(*ended(24, READ), *ended(5, STALE, last_s=-300)))[0].severity is None
    assert judged(listing(*ended(24, READ), *ended(4, STALE, last_s=-300)))[0].severity is Severity.INFO


def closed(count: int = 25, **more: Any) -> list[ClientConnection]:
    return ended(count, "Client Closed", **more)


def test_short_connections_of_the_last_ten_minutes() -> None:
    (finding,) = judged(listing(*closed(26)))
    assert finding.severity is Severity.INFO
    assert finding.measured == 26
    assert judged(listing(*closed(every_s=25))) != []
    assert judged(listing(*closed(every_s=25, last_s=-0.001))) == []
    assert (
        judged(
            listing(
                *closed(every_s=31, lived_s=29.999),
            ),
            lately="30m",
        )
        != []
    )
    assert judged(listing(*closed(every_s=31, lived_s=30)), lately="30m") == []


def test_half_of_the_short_connections_lasted_so_long() -> None:
    lives = (*closed(13, lived_s=9), *closed(6, lived_s=1, last_s=-200), *closed(6, lived_s=5, last_s=-300))
    (finding,) = judged(listing(*lives))
    assert "half of them after 9s or less" in finding.message
    (shorter,) = judged(listing(*closed(9, lived_s=9), *closed(16, lived_s=1, last_s=-200)))
    assert "half of them after 1s or less" in shorter.message
    (middle,) = judged(
        listing(*closed(8, lived_s=5), *closed(9, lived_s=9, last_s=-150), *closed(8, lived_s=1, last_s=-250))
    )
    assert "half of them after 5s or less" in middle.message
