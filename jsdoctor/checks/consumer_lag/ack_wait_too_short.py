"""JSD410: an `ack_wait` so short that messages are sent again while somebody still works on them."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.wording import counted, span

_DEFAULT_WAIT_S = 30
_NS_PER_S = 1_000_000_000


@check("consumer_lag.ack_wait_too_short")
def ack_wait_too_short(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Only what no handler can meet is judged: how long this one takes is not to be seen in its configuration.

    With a backoff the server has already put its first step in place of `ack_wait` (server: consumer.go
    setConsumerConfigDefaults), so what somebody had set there is not to be seen either.
    """
    shortest = params.integer("min_ack_wait")
    for _, consumer in snapshots.last.led_consumers():
        config = consumer.config
        if config.ack_policy == "none" or config.ack_wait_ns <= 0:
            continue
        if config.ack_wait_ns >= shortest:
            yield passed(consumer.subject)
            continue
        whence = (
            "the first step of its backoff, which takes the place of ack_wait" if config.backoff_ns else "its ack_wait"
        )
        again = (
            f"; sent again right now: {counted(consumer.num_redelivered, 'message')}"
            if consumer.num_redelivered
            else ""
        )
        yield Finding(
            subject=consumer.subject,
            message=(
                f"a message that is not acknowledged within {span(config.ack_wait_ns)} is sent again: that is {whence}"
                f", and hardly any handler is that fast{again}"
            ),
            measured=config.ack_wait_ns,
            threshold=shortest,
            unit="duration",
            evidence=(
                consumer.observed("config.ack_wait", config.ack_wait_ns),
                consumer.observed("config.backoff", list(config.backoff_ns)),
                consumer.observed("num_redelivered", consumer.num_redelivered),
            ),
            remedy=longer_wait(consumer),
        )


def longer_wait(consumer: Consumer, at_least_ns: int = 0) -> dict[str, object]:
    """Back to the server's default, or more where that much is needed; a backoff keeps its steps and starts there."""
    config, wait_s = consumer.config, max(_DEFAULT_WAIT_S, -(-at_least_ns // _NS_PER_S))
    if not config.durable_name:  # the CLI edits durables only
        return {"action": "consumer.inspect"}
    if not config.backoff_ns:
        return {"ack_wait_s": wait_s}
    longest_s = max(-(-config.backoff_ns[-1] // _NS_PER_S), 2 * wait_s)
    return {"ack_wait_s": wait_s, "backoff_steps": len(config.backoff_ns), "backoff_max_s": longest_s}
