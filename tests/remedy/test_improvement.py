"""Whether a step helped, from the INFO of an asset before and after: what moved counts, not what was set."""

from typing import Any

import pytest

from jsdoctor.remedy.proof import COPIES, DELIVERED_ONCE, SERVED, TAKES_PUBLISHES, Improvement, ProofResult

BETTER, NOT, UNKNOWN = ProofResult.GONE, ProofResult.THERE, ProofResult.UNKNOWN


def consumer(delivered: int, acked: int, pending: int = 9, held: int = 5, **more: Any) -> dict[str, Any]:
    positions = {"delivered": {"consumer_seq": delivered}, "ack_floor": {"consumer_seq": acked}}
    return {**positions, "num_pending": pending, "num_ack_pending": held, **more}


def stream(messages: int, last: int = 10, seconds: int = 0, discard: str = "new", most: int = 10) -> dict[str, Any]:
    return {
        "config": {"max_msgs": most, "discard": discard},
        "state": {"messages": messages, "bytes": 10 * messages, "last_seq": last},
        "ts": f"2026-11-28T09:00:{seconds:02}.5Z",
    }


@pytest.mark.parametrize(
    ("improvement", "before", "now", "expected"),
    [
        (SERVED, consumer(5, 0), consumer(5, 0), NOT),
        (SERVED, consumer(5, 0), consumer(9, 0), NOT),
        (SERVED, consumer(5, 0), consumer(9, 0, config={"ack_policy": "none"}), BETTER),
        (SERVED, consumer(5, 0), consumer(9, 4), BETTER),
        (SERVED, consumer(5, 0), consumer(5, 5, pending=0, held=0), BETTER),
        (SERVED, consumer(5, 0), {**consumer(9, 0), "ack_floor": {"last_active": "2026-11-28T09:00:00Z"}}, BETTER),
        (SERVED, {**consumer(5, 0), "ack_floor": {"last_active": "2026-11-28T09:00:00Z"}}, consumer(9, 0), NOT),
        (DELIVERED_ONCE, consumer(5, 0, num_redelivered=3), consumer(9, 0, num_redelivered=3), NOT),
        (DELIVERED_ONCE, consumer(5, 0, num_redelivered=3), consumer(9, 0, num_redelivered=1), BETTER),
        (TAKES_PUBLISHES, stream(10), stream(10, last=12), NOT),
        (TAKES_PUBLISHES, stream(10), stream(10, most=20), UNKNOWN),
        (TAKES_PUBLISHES, stream(10), stream(15, last=15, seconds=5, most=20), NOT),
        (TAKES_PUBLISHES, stream(10), stream(15, last=15, seconds=5, most=2000), BETTER),
        (TAKES_PUBLISHES, stream(10), stream(10, last=15, seconds=5, discard="old"), BETTER),
        (TAKES_PUBLISHES, stream(9), stream(9, most=20), BETTER),
        (TAKES_PUBLISHES, stream(9), stream(14, last=14, seconds=5, most=20), NOT),
        (COPIES, {"mirror": {"lag": 5}, **stream(1)}, {"mirror": {"lag": 5}, **stream(1)}, NOT),
        (COPIES, {"mirror": {"lag": 5}, **stream(1)}, {"mirror": {"lag": 9}, **stream(2, last=11)}, BETTER),
        (COPIES, {"sources": [{"lag": 5}], **stream(1)}, {"sources": [{"lag": 0}], **stream(1)}, BETTER),
    ],
)
def test_only_what_moves_is_better(
    improvement: Improvement, before: dict[str, Any], now: dict[str, Any], expected: ProofResult
) -> None:
    assert improvement.suffers(before)
    assert improvement.judge(before, now).finds is expected


@pytest.mark.parametrize(
    ("improvement", "before"),
    [
        (SERVED, consumer(5, 5, pending=0, held=0)),
        (DELIVERED_ONCE, consumer(5, 5)),
        (TAKES_PUBLISHES, stream(10, discard="old")),
        (COPIES, {"mirror": {"lag": 0}, **stream(1)}),
    ],
)
def test_who_does_not_suffer_needs_no_improvement(improvement: Improvement, before: dict[str, Any]) -> None:
    assert not improvement.suffers(before)
