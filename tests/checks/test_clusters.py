"""When servers of one cluster are in a rollout, by how long ago each of them was started."""

from datetime import UTC, datetime, timedelta

import pytest

from jsdoctor.checks.cluster_health.links import in_roll_out
from jsdoctor.model.server import Server, Varz

NOW = datetime(2026, 11, 21, 15, tzinfo=UTC)
WITHIN_NS, APART_NS = 7_200 * 10**9, 600 * 10**9


def server(started_s: int | None) -> Server:
    """A server that was started so many seconds ago."""
    start = None if started_s is None else NOW - timedelta(seconds=started_s)
    return Server(name=f"n{started_s}", at=NOW, varz=Varz(start=start, now=NOW))


@pytest.mark.parametrize(
    ("started_s", "expected"),
    [
        ([60, 9_000], True),
        ([7_000, 7_200], True),
        ([7_000, 7_199], False),
        ([7_199, 7_300], True),
        ([7_200, 9_000], False),
        ([60, 660], True),
        ([60, 659], False),
        ([60, None], False),
        ([], False),
    ],
)
def test_a_rollout_is_in_progress(started_s: list[int | None], expected: bool) -> None:
    assert in_roll_out([server(seconds) for seconds in started_s], WITHIN_NS, APART_NS) is expected
