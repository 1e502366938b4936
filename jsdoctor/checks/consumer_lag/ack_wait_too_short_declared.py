"""JSD410, from manifests: an `ack_wait` that no handler can meet, or that a backoff overrides."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import DeclaredConsumer, Manifests, Tool
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("consumer_lag.ack_wait_too_short_declared")
def ack_wait_too_short_declared(manifests: Manifests, params: Params) -> Iterator[Finding]:
    """The first step of a backoff takes the place of `ack_wait` (server: consumer.go setConsumerConfigDefaults).

    With `processing_p99` the wait is held against what work takes; twice that is asked for.
    """
    shortest, p99 = params.integer("min_ack_wait"), params.optional("processing_p99")
    needed = max(shortest, 2 * int(p99)) if p99 else shortest
    for consumer in manifests.kept_consumers():
        config = consumer.stored
        if config.ack_policy == "none":
            continue
        if unsure := indeterminate(consumer, "ack_wait", "backoff", "ack_policy"):
            yield unsure
        elif config.ack_wait_ns < needed:
            yield _too_short(consumer, needed, given=needed > shortest)
        elif _overridden(consumer):
            yield _backoff(consumer)
        else:
            yield passed(consumer.subject)


def _too_short(consumer: DeclaredConsumer, needed: int, *, given: bool) -> Finding:
    wait = consumer.stored.ack_wait_ns
    why = "that is its ack_wait"
    if consumer.config.backoff_ns:
        why = "that is the first step of its backoff, which takes the place of ack_wait"
    elif consumer.tool is Tool.NACK and not consumer.states("ack_wait"):
        why = "ackWait is not set, and the resource definition's default is 1ns, not the server's 30s"
    asked = f"; twice the given processing time is {span(needed)}" if given else ", and hardly any handler is that fast"
    return Finding(
        subject=consumer.subject,
        message=f"a message that is not acknowledged within {span(wait)} will be sent again: {why}{asked}",
        measured=wait,
        threshold=needed,
        unit="duration",
        evidence=(consumer.shows("backoff" if consumer.config.backoff_ns else "ack_wait", span(wait)),),
        remedy=BY_HAND,
    )


def _overridden(consumer: DeclaredConsumer) -> bool:
    config = consumer.config
    return bool(config.backoff_ns) and consumer.states("ack_wait") and config.ack_wait_ns != config.backoff_ns[0]


def _backoff(consumer: DeclaredConsumer) -> Finding:
    config = consumer.config
    return Finding(
        subject=consumer.subject,
        severity=Severity.WARNING if config.backoff_ns[0] < config.ack_wait_ns else Severity.INFO,
        message=f"ack_wait {span(config.ack_wait_ns)} will not be used: the first step of the backoff,"
        f" {span(config.backoff_ns[0])}, takes its place",
        measured=config.backoff_ns[0],
        threshold=config.ack_wait_ns,
        unit="duration",
        evidence=(
            consumer.shows("ack_wait", span(config.ack_wait_ns)),
            consumer.shows("backoff", span(config.backoff_ns[0])),
        ),
        remedy=BY_HAND,
    )
