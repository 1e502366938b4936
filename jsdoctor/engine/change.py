"""Which findings a change of manifests causes or touches, where they are judged beside a deployment.

Everything else was there before: a gate on the change lists it and does not count it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Fate, Manifests
from jsdoctor.model.report import Result
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.suppression import EXISTING, Suppression

Config = TypeVar("Config", StreamConfig, ConsumerConfig)

_ASSETS = ("stream", "consumer")
_NOT_OF_A_DEPLOYMENT = ("file",)
"""Findings on files, such as a waiver that has expired, are about what is in the repository."""


def without_existing(results: Iterable[Result], evidence: EvidenceSet) -> tuple[Result, ...]:
    """The results, those that were there before the change marked as such; unchanged without both sides."""
    manifests, snapshots = evidence.get(Manifests), evidence.get(SnapshotSeries)
    if not isinstance(manifests, Manifests) or not isinstance(snapshots, SnapshotSeries):
        return tuple(results)
    change = _Change(manifests, Deployed(snapshots))
    why = Suppression(EXISTING, "was there before the change")
    return tuple(
        replace(result, suppressed=why)
        if result.finding.outcome is Outcome.FAIL and result.suppressed is None and not change.concerns(result)
        else result
        for result in results
    )


class _Change:
    """The streams and consumers that differ between manifests and deployment, by name: manifests name no account."""

    def __init__(self, manifests: Manifests, deployed: Deployed) -> None:
        self._files = {file.path for file in manifests.files}
        self._streams = {one.name for one in manifests.streams if _stream_changes(one, deployed)}
        self._consumers = {(one.stream, one.name) for one in manifests.consumers if _consumer_changes(one, deployed)}
        self._groups = self._streams | {stream for stream, _ in self._consumers}
        """Streams of which something changes: their consumers and they are judged together."""

    def concerns(self, result: Result) -> bool:
        """Whether the change causes the finding (it is one of a manifest) or touches what it is about."""
        subject = result.finding.subject
        if subject.kind in _NOT_OF_A_DEPLOYMENT:
            return True
        if any(seen.source in self._files for seen in result.finding.evidence):
            return subject.kind not in _ASSETS or _stream_of(subject) in self._groups
        if subject.kind == "stream":
            return subject.name in self._streams
        return subject.kind == "consumer" and (subject.stream, subject.name) in self._consumers


def _stream_of(subject: Subject) -> str:
    return subject.name if subject.kind == "stream" else subject.stream


def _stream_changes(declared: DeclaredStream, deployed: Deployed) -> bool:
    """Whether applying it changes anything. Where that cannot be told, it may."""
    current = deployed.stream(declared.name)
    if current is None or declared.fate is not Fate.KEPT or declared.mistakes or declared.unknown:
        return True
    wanted = declared.after_update(current.config)
    return comparable(wanted) != comparable(current.config)


def _consumer_changes(declared: DeclaredConsumer, deployed: Deployed) -> bool:
    current = consumer_of(deployed.stream(declared.stream), declared.name)
    if current is None or declared.fate is not Fate.KEPT or declared.mistakes or declared.unknown:
        return True
    names = {"name": current.config.name, "durable_name": current.config.durable_name}
    return comparable(replace(declared.stored, **names)) != comparable(current.config)


def comparable(config: Config) -> Config:
    """Without the labels that servers add of themselves."""
    own = {name: value for name, value in config.metadata.items() if not name.startswith("_nats.")}
    return replace(config, metadata=own)
