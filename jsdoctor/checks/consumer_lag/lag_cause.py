"""Why a consumer is behind, as far as its own figures tell: which of the usual causes it is."""

from __future__ import annotations

from jsdoctor.checks.consumer_lag.progress import backlog, flow, is_full, moved
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
    return "its clients are slower than what arrives"


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
