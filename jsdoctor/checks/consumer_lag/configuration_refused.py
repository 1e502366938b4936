"""JSD418: consumers that servers refuse to create or to change.

From manifests: a consumer that its tool or the servers will refuse to create or to change.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared import consumer_refusals
from jsdoctor.checks.declared.deployed import Declarations, Deployed, consumer_of, release_for
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.declared.refusal import ServerRefusal, verdict
from jsdoctor.checks.declared.stream_resources import account_row, most_consumers
from jsdoctor.checks.logs.bursts import NOT_CREATED, bursts, refusals_in
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import DeclaredConsumer, Manifests, PlannedAction
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.server_defaults import consumer_as_stored
from jsdoctor.model.snapshot import SnapshotSeries

_REFUSED = (
    "consumer-setting-fixed",
    "consumer-workqueue-refused",
    "consumer-limit-reached",
    "consumer-backoff-refused",
    "consumer-replicas-refused",
    "consumer-filters-overlap",
    "consumer-ack-pending-over-limit",
    "consumer-flow-control-refused",
)
_BOUND = ("consumer-already-bound", "consumer-bound-elsewhere")
_STORED = {
    "consumer-filter-overlaps-on-disk": "its filter overlaps with that of another consumer of this work-queue stream",
    "consumer-replicas-on-disk": "it has not as many replicas as its interest stream, which servers refuse today",
}


@check("consumer_lag.configuration_refused_logged", lines_of="clients")
def configuration_refused_logged(logs: LogEvidence) -> Iterator[Finding]:
    """One finding for each application; for each consumer that a server could not create or rejects in its store.

    A second subscriber of a push consumer may be a standby that waits for its turn.
    """
    refused = bursts(logs, *_REFUSED, subjects=client_of, calm=False)
    refusals = [(burst, f"a consumer was refused{burst.in_brackets('reason')}") for burst in refused]
    for burst in bursts(logs, NOT_CREATED, calm=False):
        refusals += [(burst, f"a consumer was refused ({reason})") for reason in refusals_in(burst)[:1]]
    for name, what in _STORED.items():
        refusals += [(burst, what) for burst in bursts(logs, name, calm=False)]
    for burst, what in refusals:
        yield finding_of(burst, f"{what}, {burst.story}")
    for burst in bursts(logs, *_BOUND, subjects=client_of, calm=False):
        what = "a subscription was refused, as another one receives the messages of this push consumer"
        yield finding_of(burst, f"{what}{burst.in_brackets('reason')}, {burst.story}", Severity.INFO)


@check("consumer_lag.configuration_refused_declared")
def configuration_refused_declared(
    manifests: Manifests,
    snapshots: SnapshotSeries | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
    accounts: Accounts | None,
) -> Iterator[Finding]:
    """Judge each consumer with its stream, and beside a deployment whether it can be changed; all reasons at once."""
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        stream = declared.stream_of(consumer)
        release = release_for(deployed.stream(consumer.stream), servers, connected)
        refusals = list(_refusals(consumer, declared, deployed, release))
        refusals += _beyond_limits(consumer, declared, deployed, accounts)
        refusals = [refusal for refusal in refusals if refusal.field not in consumer.unknown]
        dropped = [] if refusals else list(consumer_refusals.dropped_fields(consumer.config, release))
        if finding := verdict(consumer, refusals, dropped, release) or deployed.doubt(consumer, consumer.stream):
            yield finding
        elif unsure := indeterminate(consumer, *consumer.unknown):
            yield unsure
        elif stream and (unsure := indeterminate(stream, *stream.unknown)):
            yield unknown(consumer.subject, f"of its stream, {unsure.message}", unsure.how_to_get)
        elif _planned_stream(consumer, declared, deployed) is None and consumer.stream:
            how = "give the manifest of its stream too, or name the deployment (-s URL or --bundle FILE)"
            yield unknown(consumer.subject, f"its stream {consumer.stream} is in no manifest", how)
        else:
            yield passed(consumer.subject)


def _planned_stream(consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed) -> StreamConfig | None:
    """The stream's configuration after the change: as declared, else as deployed."""
    wanted, deployed_stream = declared.stream_of(consumer), deployed.stream(consumer.stream)
    if wanted is None:
        return deployed_stream.config if deployed_stream else None
    return wanted.after_update(deployed_stream.config) if deployed_stream else wanted.stored


def _refusals(
    consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed, release: tuple[int, ...]
) -> Iterator[ServerRefusal]:
    stream, deployed_stream = _planned_stream(consumer, declared, deployed), deployed.stream(consumer.stream)
    current = (
        consumer_of(deployed_stream, consumer.name) if consumer.planned_action is not PlannedAction.REPLACED else None
    )
    if current and not consumer.may_update:
        return
    unknown_stream = stream is None and deployed.seen and not deployed.streams(consumer.stream)
    if unknown_stream and consumer.stream and deployed.doubt(consumer, consumer.stream) is None:
        yield ServerRefusal(
            "stream_name", f"there is no stream {consumer.stream}, neither deployed nor declared", 10059
        )
        return
    asked = consumer.asked(current.config) if current else consumer.config
    config = consumer_as_stored(asked, stream.consumer_limits if stream else None, release)
    yield from consumer_refusals.of_consumer(config, asked, stream)
    if current:
        yield from consumer_refusals.of_change(config, current.config)
    if stream is not None and stream.retention == "workqueue" and stream.mirror is None:
        if not current:
            yield from consumer_refusals.of_new_on_work_queue(config)
        others = _others(consumer, declared, deployed)
        yield from consumer_refusals.of_work_queue(config, others, creating=current is None)


def _beyond_limits(
    consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed, accounts: Accounts | None
) -> Iterator[ServerRefusal]:
    """Refusals of a new consumer by limits of its stream and account. If the stream is declared, JSD602 judges it."""
    deployed_stream = deployed.stream(consumer.stream)
    if deployed_stream is None or declared.stream_of(consumer) or consumer_of(deployed_stream, consumer.name):
        return
    row = account_row(deployed_stream.account, accounts)
    yield from consumer_refusals.of_consumer_count(
        deployed_stream.config, len(deployed_stream.consumers), most_consumers(deployed_stream.config, row)
    )


def _others(consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed) -> list[tuple[str, ConsumerConfig]]:
    """Other consumers of its stream: as declared, else as they are."""
    deployed_stream = deployed.stream(consumer.stream)
    known = {consumer.name: consumer.config for consumer in (deployed_stream.consumers if deployed_stream else ())}
    known |= {
        declared_consumer.name: declared_consumer.stored
        for declared_consumer in declared.beside(consumer)
        if declared_consumer.name
    }
    return sorted(((name, config) for name, config in known.items() if name != consumer.name), key=lambda pair: pair[0])
