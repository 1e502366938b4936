"""JSD412, from manifests: an acknowledgement policy under which messages will be lost or skipped without a word."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.ack_policy_risk import risk_of
from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.declared.index import Declarations
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.manifest import DeclaredConsumer, Manifests, Tool
from jsdoctor.model.snapshot import SnapshotSeries


@check("consumer_lag.ack_policy_risk_declared")
def ack_policy_risk_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """`none` acknowledges what is sent, `all` everything below what is acknowledged (server: consumer.go).

    `none` is what NACK's resource definition and the server's JSON make of a policy that is not stated.
    """
    known, deployed = Declarations(manifests), Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        declared, there = known.stream_of(consumer), deployed.stream(consumer.stream)
        retention = declared.stored.retention if declared else there.config.retention if there else "limits"
        risk = risk_of(consumer.stored, retention)
        if unsure := indeterminate(consumer, "ack_policy", "deliver_group"):
            yield unsure
        elif risk is None:
            yield passed(consumer.subject)
        else:
            yield Finding(
                subject=consumer.subject,
                severity=risk[0],
                message=risk[1] + _unstated(consumer),
                evidence=(consumer.shows("ack_policy", consumer.config.ack_policy),),
                remedy=BY_HAND,
            )


def _unstated(consumer: DeclaredConsumer) -> str:
    if consumer.states("ack_policy") or consumer.tool is Tool.TERRAFORM:
        return ""
    key = "ackPolicy" if consumer.tool is Tool.NACK else "ack_policy"
    return f". {key} is not set, which means none; write explicit"
