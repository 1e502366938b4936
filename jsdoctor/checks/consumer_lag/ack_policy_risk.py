"""JSD412: an acknowledgement policy under which messages are lost or skipped silently.

From manifests: an acknowledgement policy under which messages will be lost or skipped silently.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.progress import lowest_values
from jsdoctor.checks.declared.deployed import Declarations, Deployed
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, shown, unknown
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.manifest import DeclaredConsumer, Manifests, Tool
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries

_OWN_STREAMS = "$MQTT_"
"""Streams that the server itself keeps; it reads some of them without acknowledgements by design (server: mqtt.go)."""


@check("consumer_lag.ack_policy_risk")
def ack_policy_risk(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """`none` acknowledges what is sent, `all` everything below what is acknowledged (server: consumer.go).

    Ephemeral consumers without acknowledgements (ordered consumers, watchers) repair themselves and are left alone.
    """
    waiting = lowest_values(snapshots, lambda consumer: consumer.num_waiting, _shares)
    for stream, consumer in snapshots.last.led_consumers():
        if stream.name.startswith(_OWN_STREAMS):
            continue
        risk = risk_of(consumer.config, stream.config.retention)
        if risk is None and _shares(consumer):
            yield _pulled_by_several(consumer, waiting[consumer.subject], params.integer("pullers"))
            continue
        if risk is None:
            yield passed(consumer.subject)
            continue
        severity, message = risk
        yield failed(
            consumer.subject,
            message,
            consumer.observed("config.ack_policy", consumer.config.ack_policy),
            stream.observed("config.retention", stream.config.retention),
            consumer.observed("config.deliver_group", consumer.config.deliver_group),
            severity=severity,
        )


def _shares(consumer: Consumer) -> bool:
    return consumer.config.ack_policy == "all" and not consumer.config.is_push


def _pulled_by_several(consumer: Consumer, waiting: int, pullers: int) -> Finding:
    """Information: one client may have two requests waiting at a time, as some libraries do, or more."""
    if waiting < pullers:
        return passed(consumer.subject)
    return failed(
        consumer.subject,
        f"{waiting:,} pull requests or more wait in each sample: if they are of several clients, an"
        " acknowledgement by one (ack_policy all) covers all earlier messages, also those that another still works on",
        *shown(consumer, "config.ack_policy", "num_waiting"),
        severity=Severity.INFO,
        measured=(waiting, pullers, "count"),
    )


def risk_of(config: ConsumerConfig, retention: str) -> tuple[Severity, str] | None:
    """How bad the policy is on a stream with that retention, and why; None where it is right."""
    deletes = retention == "interest"
    if config.ack_policy == "none" and config.durable_name:
        sent, lost = "a message counts as acknowledged when it is sent", "what a client loses in a crash or a broken"
        if deletes:
            return Severity.WARNING, f"{sent} and the stream then deletes it: {lost} connection is gone for good"
        return Severity.INFO, f"{sent}: {lost} connection is never sent to this durable again"
    if config.ack_policy == "all" and config.deliver_group:
        gone = ", and the stream deletes them" if deletes else ""
        return Severity.WARNING, (
            f"members of queue group {config.deliver_group!r} share this consumer, and an acknowledgement by one "
            f"covers all earlier messages, also those that another still works on: these are never sent again{gone}"
        )
    return None


@check("consumer_lag.ack_policy_risk_declared")
def ack_policy_risk_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """`none` acknowledges what is sent, `all` everything below what is acknowledged (server: consumer.go).

    `none` is what NACK's resource definition and the server's JSON make of a policy that is not stated.
    """
    known, deployed = Declarations(manifests), Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        declared, current = known.stream_of(consumer), deployed.stream(consumer.stream)
        retention = declared.stored.retention if declared else current.config.retention if current else "limits"
        risk = risk_of(consumer.stored, retention)
        if unsure := indeterminate(consumer, "ack_policy", "deliver_group"):
            yield unsure
        elif unsure := indeterminate(declared, "retention") if declared else None:
            yield unknown(consumer.subject, unsure.message, unsure.how_to_get)
        elif risk is None:
            yield passed(consumer.subject)
        else:
            yield failed(
                consumer.subject,
                risk[1] + _unstated(consumer),
                consumer.shows("ack_policy", consumer.config.ack_policy),
                severity=risk[0],
            )


def _unstated(consumer: DeclaredConsumer) -> str:
    if consumer.states("ack_policy") or consumer.tool is Tool.TERRAFORM:
        return ""
    key = "ackPolicy" if consumer.tool is Tool.NACK else "ack_policy"
    return f". {key} is not set, which means none; write explicit"
