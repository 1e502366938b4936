"""Why a consumer is behind, as far as its own figures tell: which of the usual causes it is."""

from __future__ import annotations

from jsdoctor.checks.consumer_lag.progress import acknowledged, backlog, flow, is_full, moved
from jsdoctor.model.partial import shown_or
from jsdoctor.model.trend import ConsumerHistory
from jsdoctor.model.wording import span

_REPEATS = 0.05
"""From this share of repeated deliveries on, redelivery and not slow clients is named as the cause."""
_SAMPLES_SHOWN = 6


def lag_cause(history: ConsumerHistory) -> str:
    """The cause, or that the evidence does not show the settings that would tell it."""
    return shown_or(lambda: _lag_cause(history), "its configuration is not shown, so its cause is not known")


def _lag_cause(history: ConsumerHistory) -> str:
    """The first cause that applies; in this order, each excludes those after it.

    Server: consumer.go getNextMsg, loopAndGatherMsgs.
    """
    last, config = history.last, history.last.config
    share = repeated_share(history)
    if last.paused:
        return "it is paused (JSD414)"
    if is_full(last):
        taken = "its one place" if config.max_ack_pending == 1 else f"each of its {config.max_ack_pending:,} places"
        if held_by_its_limit(history):
            return f"workers acknowledge and more of them wait, but {taken} for unacknowledged messages is taken"
        return f"{taken} for unacknowledged messages is taken (JSD403)"
    if config.is_push and not last.push_bound:
        return "no subscriber is bound to it (JSD405)"
    if not config.is_push and not moved(history) and not any(reading.num_waiting for reading in history.readings):
        return "no client requested messages (JSD405)"
    if config.replay_policy == "original" or config.rate_limit_bps > 0:
        return "its configuration delivers slowly (replay policy or rate limit)"
    if share >= _REPEATS:
        return f"{share:.0%} of its deliveries are repeats (JSD408)"
    if not moved(history):
        return "clients wait and the server delivers nothing (JSD404, JSD417)"
    if not config.is_push and all(reading.num_pending and reading.num_waiting for reading in history.readings):
        return "requests of its clients wait each time: its server delivers less than arrives"
    return "its clients are slower than what arrives"


def held_by_its_limit(history: ConsumerHistory) -> dict[str, object]:
    """The remedy where the limit itself is the cause: workers acknowledge, more of them wait, and no place is free.

    Else nothing, which leaves the rule's own. A limit of one means strict order.
    """
    return shown_or(lambda: _held_by_its_limit(history), {})


def _held_by_its_limit(history: ConsumerHistory) -> dict[str, object]:
    last, limit = history.last, history.last.config.max_ack_pending
    waits = all(is_full(reading) and reading.num_waiting > 0 for reading in history.readings)
    fails = last.num_redelivered >= last.num_ack_pending or repeated_share(history) >= _REPEATS
    if limit <= 1 or not last.config.durable_name or not waits or fails or not acknowledged(history):
        return {}
    return {"action": "consumer.raise_max_ack_pending", "max_ack_pending": 2 * limit}


def repeated_share(history: ConsumerHistory) -> float:
    """The share of deliveries between the first and the last sample that were repeats, as a lower bound."""
    first, last = history.first.delivered, history.last.delivered
    by_consumer, by_stream = last.consumer_seq - first.consumer_seq, last.stream_seq - first.stream_seq
    return (by_consumer - by_stream) / by_consumer if by_consumer > by_stream >= 0 else 0.0


def samples_of(history: ConsumerHistory) -> str:
    """The backlog in each sample, in words: `3 looks in 4s: 4,000, 4,500, 5,000 not done`."""
    backlogs = [backlog(reading) for reading in history.readings]
    shown = backlogs if len(backlogs) <= _SAMPLES_SHOWN else [*backlogs[: _SAMPLES_SHOWN - 1], backlogs[-1]]
    numbers = [f"{number:,}" for number in shown]
    if len(shown) < len(backlogs):
        numbers.insert(-1, "…")
    took = span(round(history.elapsed_s) * 1_000_000_000)
    return f"{len(backlogs)} looks in {took}: {', '.join(numbers)} not done"


def time_to_drain_s(history: ConsumerHistory) -> float | None:
    """In how many seconds the backlog is gone at the present rates; None when it does not fall."""
    rates = flow(history)
    return backlog(history.last) / -rates.growth if rates and rates.growth < 0 else None
