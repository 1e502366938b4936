"""JSD424: messages that expire before they can be delivered a second time.

From manifests: the same of declared consumers and streams.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Declarations, Deployed
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span

_ONE_ATTEMPT = 1


@check("consumer_lag.expires_unacknowledged")
def expires_unacknowledged(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Judge durable consumers: clients of ephemeral ones read what is stored, and create new ones."""
    for stream, consumer in snapshots.last.led_consumers():
        max_age_ns = stream.config.max_age_ns
        if not _redelivers(consumer.config) or max_age_ns <= 0 or stream.is_mqtt:
            continue
        fault = _fault(consumer.config, max_age_ns, stream.config.retention)
        if fault is None:
            yield passed(consumer.subject)
            continue
        severity, message, wait_ns = fault
        yield failed(
            consumer.subject,
            message,
            consumer.observed("config.ack_wait", consumer.config.ack_wait_ns),
            consumer.observed("config.backoff", [span(step) for step in consumer.config.backoff_ns]),
            stream.observed("config.max_age", max_age_ns),
            stream.observed("config.retention", stream.config.retention),
            severity=severity,
            measured=(max_age_ns, wait_ns, "duration"),
        )


@check("consumer_lag.expires_unacknowledged_declared")
def expires_unacknowledged_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Judge declared consumers with their declared stream, else with the deployed one."""
    known, deployed = Declarations(manifests), Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        config = consumer.stored
        declared, deployed_stream = known.stream_of(consumer), deployed.stream(consumer.stream)
        stored = declared.stored if declared else deployed_stream.config if deployed_stream else None
        unsure = indeterminate(consumer, "ack_wait", "backoff", "max_deliver", "ack_policy")
        if declared and _redelivers(config):
            unsure = unsure or indeterminate(declared, "max_age", "retention")
        if unsure and config.durable_name:
            yield unknown(consumer.subject, unsure.message, unsure.how_to_get)
        elif not _redelivers(config):
            continue
        elif stored is None:
            yield unknown(
                consumer.subject,
                f"stream {consumer.stream} was not seen, and its max_age is not known",
                "give its manifest as well, or check against the deployment with -s URL",
            )
        elif (fault := _fault(config, stored.max_age_ns, stored.retention)) is None:
            yield passed(consumer.subject)
        else:
            severity, message, wait_ns = fault
            yield failed(
                consumer.subject,
                message,
                consumer.shows("ack_wait", span(config.ack_wait_ns)),
                severity=severity,
                measured=(stored.max_age_ns, wait_ns, "duration"),
            )


def _redelivers(config: ConsumerConfig) -> bool:
    """Whether messages without an acknowledgement are delivered again, to a durable consumer."""
    waits = config.ack_policy != "none" and config.ack_wait_ns > 0
    return bool(config.durable_name) and waits and config.max_deliver != _ONE_ATTEMPT


def _fault(config: ConsumerConfig, max_age_ns: int, retention: str) -> tuple[Severity, str, int] | None:
    """Severity, message, and the wait in ns that max_age is not longer than; None if no delivery comes too late."""
    if max_age_ns <= 0:
        return None
    if max_age_ns <= config.ack_wait_ns:
        return (*_no_second_delivery(config, max_age_ns, retention), config.ack_wait_ns)
    last_ns = sum(config.backoff_ns)
    if config.backoff_ns and config.max_deliver > 0:
        # The last step is taken again and again; without a limit of deliveries, the end of the steps counts.
        steps, redeliveries = config.backoff_ns, config.max_deliver - 1
        last_ns = sum(steps[:redeliveries]) + steps[-1] * max(redeliveries - len(steps), 0)
    if max_age_ns > last_ns:
        return None
    message = (
        f"with the steps of its backoff the last attempt comes {span(last_ns)} after the first, and the stream deletes"
        f" a message at the age of {span(max_age_ns)}: later attempts never take place"
    )
    return Severity.INFO, message, last_ns


def _no_second_delivery(config: ConsumerConfig, max_age_ns: int, retention: str) -> tuple[Severity, str]:
    """A warning for streams that keep messages until they are acknowledged; others may hold what is soon outdated."""
    work = retention in ("workqueue", "interest")
    wait = "the first step of its backoff" if config.backoff_ns else "ack_wait"
    return Severity.WARNING if work else Severity.INFO, (
        f"a message without an acknowledgement is delivered again after {span(config.ack_wait_ns)} ({wait}), and the "
        f"stream deletes it at the age of {span(max_age_ns)}: what a worker holds when it fails is lost silently"
    )
