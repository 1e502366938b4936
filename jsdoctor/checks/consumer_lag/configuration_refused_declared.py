"""JSD418, from manifests: a consumer that its tool or the servers will refuse to create or to change."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared import consumer_refusals
from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.checks.declared.doubts import BY_HAND
from jsdoctor.checks.declared.index import Declarations
from jsdoctor.checks.declared.stream_refusals import Refusal
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, passed, unknown
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, Fate, Manifests
from jsdoctor.model.snapshot import SnapshotSeries


@check("consumer_lag.configuration_refused_declared")
def configuration_refused_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Alone and with its declared stream by what no server takes; beside a deployment also by what cannot be changed.

    One finding for each consumer, with all reasons.
    """
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    for consumer in manifests.kept_consumers():
        reasons = _reasons(consumer, declared, deployed)
        dropped = [mistake for mistake in consumer.mistakes if mistake.ignored]
        shown = (*(seen for _, seen in reasons), *(mistake.place.shows(mistake.says) for mistake in dropped))
        says = "; ".join((*(text for text, _ in reasons), *(mistake.says for mistake in dropped)))
        if reasons:
            yield _finding(consumer, says, shown, Severity.ERROR)
        elif dropped:
            yield _finding(
                consumer, says, shown, Severity.INFO if all(mistake.unsure for mistake in dropped) else Severity.WARNING
            )
        elif unsure := deployed.doubt(consumer, consumer.stream):
            yield unsure
        elif _stream(consumer, declared, deployed) is None and consumer.stream:
            how = "give the manifest of its stream too, or name the deployment (-s URL or --bundle FILE)"
            yield unknown(consumer.subject, f"its stream {consumer.stream} is in no manifest", how)
        else:
            yield passed(consumer.subject)


def _reasons(consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed) -> list[tuple[str, Observation]]:
    """What its tool refuses, else what the server does, each with its place."""
    wrong = [mistake for mistake in consumer.mistakes if not mistake.ignored]
    if wrong:
        return _told(f"{consumer.tool} will refuse it", [(one.says, one.place.shows(one.says)) for one in wrong])
    refusals = _refusals(consumer, declared, deployed)
    return _told("the server will refuse it", [(one.text, consumer.at(one.field).shows(one.says)) for one in refusals])


def _stream(consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed) -> StreamConfig | None:
    """The stream as it will be: as declared, else as it is."""
    wanted, there = declared.stream_of(consumer), deployed.stream(consumer.stream)
    if wanted is None:
        return there.config if there else None
    return wanted.after_update(there.config) if there else wanted.stored


def _refusals(consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed) -> Iterator[Refusal]:
    stream, there = _stream(consumer, declared, deployed), deployed.stream(consumer.stream)
    current = consumer_of(there, consumer.name)
    if current and not consumer.may_update:
        return
    unknown_stream = stream is None and deployed.seen and not deployed.streams(consumer.stream)
    if unknown_stream and consumer.stream and deployed.doubt(consumer, consumer.stream) is None:
        yield Refusal("stream_name", f"there is no stream {consumer.stream}, neither deployed nor declared", 10059)
        return
    yield from consumer_refusals.of_consumer(consumer.stored, stream)
    if current and consumer.fate is not Fate.REPLACED:
        yield from consumer_refusals.of_change(consumer.stored, current.config)
    if stream is not None and stream.retention == "workqueue":
        yield from consumer_refusals.of_work_queue(consumer.stored, _others(consumer, declared, deployed))


def _others(consumer: DeclaredConsumer, declared: Declarations, deployed: Deployed) -> list[tuple[str, ConsumerConfig]]:
    """Other consumers of its stream: as declared, else as they are."""
    there = deployed.stream(consumer.stream)
    known = {one.name: one.config for one in (there.consumers if there else ())}
    known |= {one.name: one.stored for one in declared.beside(consumer) if one.name}
    return sorted(((name, config) for name, config in known.items() if name != consumer.name), key=lambda pair: pair[0])


def _finding(
    consumer: DeclaredConsumer, says: str, shown: tuple[Observation, ...], severity: Severity | None
) -> Finding:
    return Finding(subject=consumer.subject, severity=severity, message=says, evidence=shown, remedy=BY_HAND)


def _told(verdict: str, reasons: list[tuple[str, Observation]]) -> list[tuple[str, Observation]]:
    """The verdict before the first reason."""
    return [(f"{verdict}: {says}" if number == 0 else says, seen) for number, (says, seen) in enumerate(reasons)]
