"""What a consumer's backlog means: its cause, the batch that a client may hold, and when clients come for it."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.checks.consumer_lag.lag_growing import growing
from jsdoctor.checks.consumer_lag.progress import lag_cause, samples_of
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.params import Params
from jsdoctor.model.partial import hide
from jsdoctor.model.snapshot import Consumer
from tests.checks.test_consumer_progress import consumer, history


@pytest.mark.parametrize(
    ("backlogs", "text"),
    [
        ((1, 2, 3), "3 looks in 20s: 1, 2, 3 not done"),
        ((1, 2, 3, 4, 5, 6), "6 looks in 50s: 1, 2, 3, 4, 5, 6 not done"),
        ((1, 2, 3, 4, 5, 6, 7), "7 looks in 1m: 1, 2, 3, 4, 5, …, 7 not done"),
        ((1, 2, 3, 4, 5, 6, 7, 8), "8 looks in 1m10s: 1, 2, 3, 4, 5, …, 8 not done"),
    ],
)
def test_of_many_samples_the_first_five_and_the_last_are_shown(backlogs: tuple[int, ...], text: str) -> None:
    assert samples_of(history([consumer(10 * n, 5, pending) for n, pending in enumerate(backlogs)])) == text


def test_a_paused_consumer_is_behind_because_it_is_paused() -> None:
    seen = [consumer(0, 5, 5), replace(consumer(10, 5, 5), paused=True)]
    assert lag_cause(history(seen)) == "it is paused (JSD414)"


@pytest.mark.parametrize(
    ("waiting", "cause"),
    [
        ((1, 1), "requests of its clients wait each time: its server delivers less than arrives"),
        ((0, 1), "its clients are slower than what arrives"),
    ],
)
def test_clients_whose_requests_wait_are_not_the_slow_ones(waiting: tuple[int, int], cause: str) -> None:
    seen = [replace(consumer(10 * n, 5 + n, 50), num_waiting=requests) for n, requests in enumerate(waiting)]
    assert lag_cause(history(seen)) == cause


def test_one_message_in_flight_at_a_time() -> None:
    """It says what each took, where that may be a round trip. A second one in flight is something else."""
    seen = [consumer(0, 0, 50), consumer(10, 250, 60)]
    assert "takes one message at a time, one in 40ms" in lag_cause(history(seen))
    both = [replace(reading, num_ack_pending=1, num_waiting=1) for reading in seen]
    assert "its server delivers less" in lag_cause(history(both))
    assert lag_cause(history([consumer(0, 0, 50), consumer(10, 4, 60)])) == "its clients are slower than what arrives"


def partly_shown(reading: Consumer) -> Consumer:
    """Of a configuration that its evidence does not show."""
    fields = ("ack_policy", "max_ack_pending", "deliver_subject", "replay_policy")
    return replace(reading, config=hide(reading.config, fields, reading.subject, "run nats consumer info"))


def judged(readings: Iterable[Consumer], **params: int) -> Finding | None:
    """What becomes of a consumer that grows; None if it is passed over."""
    values = {"min_pending": 0, "min_wait": 0, "burst": 0, **params}
    findings = list(growing(iter([history(list(readings))]), Params(values)))
    assert len(findings) <= 1
    return findings[0] if findings else None


def fails(readings: Iterable[Consumer], **params: int) -> bool:
    finding = judged(readings, **params)
    assert finding is not None
    return finding.outcome is Outcome.FAIL


def with_config(readings: Iterable[Consumer], **config: Any) -> list[Consumer]:
    return [replace(reading, config=replace(reading.config, **config)) for reading in readings]


@pytest.mark.parametrize(("elapsed_s", "expected"), [(599, False), (600, True), (601, True)])
def test_no_client_works_on_one_batch_for_ten_minutes(elapsed_s: int, expected: bool) -> None:
    grows = [consumer(0, 10, 100), consumer(elapsed_s, 20, 900)]
    assert fails(with_config(grows, ack_policy="explicit", max_ack_pending=1_000)) is expected


def test_a_single_message_more_than_no_batch_grows() -> None:
    assert fails([consumer(0, 10, 0), consumer(600, 20, 1)])


@pytest.mark.parametrize(
    ("pending", "held", "expected"),
    [(1_000, (10, 20), False), (1_001, (10, 20), True), (3_000, (20, 3_000), False), (3_001, (20, 3_000), True)],
)
def test_without_its_configuration_a_batch_is_what_was_held(
    pending: int, held: tuple[int, int], expected: bool
) -> None:
    first, last = consumer(0, 4_000, 0, held[0]), consumer(10, 8_000, pending, held[1])
    assert fails([partly_shown(first), partly_shown(last)]) is expected
