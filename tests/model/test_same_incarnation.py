"""A stream that holds what it held is the same one, also where a restart gave it another date (nats-server#8470)."""

from datetime import UTC, datetime, timedelta

import pytest

from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.snapshot import Stream, same_incarnation

NOW = datetime(2026, 11, 28, 9, 0, 0, tzinfo=UTC)


def stream(first: int, last: int, *, hours: int, since: int = 0, number: int = 9, created: int = 0) -> Stream:
    """Messages first to last, the first stored `since` hours after NOW; read and created at those hours."""
    state = StreamState(
        messages=number,
        first_seq=first,
        last_seq=last,
        first_ts=NOW + timedelta(hours=since),
        last_ts=NOW + timedelta(hours=hours),
    )
    moment = NOW + timedelta(hours=hours)
    dated = NOW + timedelta(hours=created)
    return Stream(account="APP", name="S", config=StreamConfig(name="S"), state=state, at=moment, created=dated)


OLD = stream(1, 9, hours=2)


@pytest.mark.parametrize(
    ("later", "same"),
    [
        (stream(1, 20, hours=9, created=8), True),
        (stream(5, 20, hours=9, since=1, created=8), True),  # a limit removed the first ones
        (stream(1, 9, hours=9, since=8, created=8), False),  # it begins after the other ended
        (stream(1, 5, hours=9, created=8), False),  # it lost its end
        (stream(15, 20, hours=9, since=5, created=8), False),  # nothing is left that both held
        (stream(1, 9, hours=9, since=8), True),  # the same date says enough
        (stream(1, 0, hours=9, since=8, number=0, created=8), False),
    ],
)
def test_what_it_holds_decides(later: Stream, same: bool) -> None:
    assert same_incarnation(OLD, later) is same_incarnation(later, OLD) is same
