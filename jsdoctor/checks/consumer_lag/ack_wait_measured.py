"""JSD410, from the server's own measurements: acknowledgements that take nearly as long as `ack_wait`, or longer."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.ack_wait_too_short import longer_wait
from jsdoctor.checks.registry import check
from jsdoctor.model.ack_times import AckTimes, ConsumerAcks
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.wording import counted, span

_MOST = 0.99


@check("consumer_lag.ack_wait_measured")
def ack_wait_measured(ack_times: AckTimes, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Time counts from the last delivery, so those of messages that came again are rather too short.

    Of fewer acknowledgements than it takes for a share nothing is said (server: consumer.go sampleAck).
    """
    led = {(c.account, c.stream, c.name): c for _, c in snapshots.last.led_consumers()}
    share, enough = params.number("wait_share"), params.integer("min_acks")
    for acks in ack_times.consumers:
        consumer = led.get((acks.account, acks.stream, acks.consumer))
        if consumer is None or consumer.config.ack_wait_ns <= 0 or len(acks.ack_times_ns) < enough:
            continue
        if acks.quantile_ns(_MOST) < share * consumer.config.ack_wait_ns:
            yield passed(consumer.subject)
        else:
            yield _finding(consumer, acks, share)


def _finding(consumer: Consumer, acks: ConsumerAcks, share: float) -> Finding:
    wait_ns, p99_ns = consumer.config.ack_wait_ns, acks.quantile_ns(_MOST)
    too_long, late = p99_ns > wait_ns, acks.longer_than(wait_ns)
    whence = "the first step of its backoff" if consumer.config.backoff_ns else "its ack_wait"
    how_late = f"{counted(late, 'acknowledgement')} came after it" if late else "that leaves no room for a busy hour"
    again = f"; {acks.redelivered:,} were of messages that had come again" if acks.redelivered else ""
    return Finding(
        subject=consumer.subject,
        severity=Severity.ERROR if too_long else None,
        message=(
            f"of {counted(len(acks.ack_times_ns), 'measured acknowledgement')} 99 % came within {span(p99_ns)} of the "
            f"delivery, half within {span(acks.quantile_ns(0.5))}; after {span(wait_ns)}, {whence}, a message is sent "
            f"again: {how_late}{again}"
        ),
        measured=p99_ns,
        threshold=wait_ns if too_long else round(share * wait_ns),
        unit="duration",
        evidence=(
            consumer.observed("config.ack_wait", wait_ns),
            consumer.observed("config.sample_freq", consumer.config.sample_freq),
            consumer.observed("ack_time p99", p99_ns),
            consumer.observed("acknowledgements measured", len(acks.ack_times_ns)),
        ),
        remedy=longer_wait(consumer, 2 * p99_ns),
    )
