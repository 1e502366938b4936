"""Which findings a change of manifests causes or touches, where they are judged beside a deployment.

Everything else existed before: a pipeline that gates the change lists it and does not count it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from jsdoctor.checks.declared.deployed import Deployed, consumer_of
from jsdoctor.checks.registry import Check
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Manifests, PlannedAction
from jsdoctor.model.report import Result
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.suppression import EXISTING, Suppression

Config = TypeVar("Config", StreamConfig, ConsumerConfig)

_ASSETS = ("stream", "consumer")
_REPOSITORY_KINDS = ("file",)
"""Findings on files, such as a waiver that has expired, are about what is in the repository."""


def without_existing(
    results: Iterable[Result], evidence: EvidenceSet, checks: Mapping[str, Check]
) -> tuple[Result, ...]:
    """The results, with findings that existed before the change suppressed. Needs manifests and a deployment."""
    every = tuple(results)
    manifests, snapshots = evidence.get(Manifests), evidence.get(SnapshotSeries)
    if manifests is None or snapshots is None:
        return every
    change = _Change(manifests, Deployed(snapshots), every, checks)
    return tuple(
        replace(result, suppressed=Suppression(EXISTING, why)) if (why := change.existing(result)) else result
        for result in every
    )


class _Change:
    """The streams and consumers that differ between manifests and deployment, by name: manifests name no account."""

    def __init__(
        self, manifests: Manifests, deployed: Deployed, results: Iterable[Result], checks: Mapping[str, Check]
    ) -> None:
        self._checks = checks
        self._files = {file.path for file in manifests.files}
        self._streams = {stream.name for stream in manifests.streams if _stream_changes(stream, deployed)}
        self._consumers = {
            (consumer.stream, consumer.name)
            for consumer in manifests.consumers
            if _consumer_changes(consumer, deployed)
        }
        self._groups = self._streams | {stream for stream, _ in self._consumers}
        """Streams of which something changes: their consumers and they are judged together."""
        declared: tuple[DeclaredStream | DeclaredConsumer, ...] = (*manifests.streams, *manifests.consumers)
        self._known = {
            _asset(item.subject)
            for item in declared
            if item.planned_action is PlannedAction.KEPT and not (item.mistakes or item.unknown)
        }
        self._not_passed = {
            (result.rule.code, _asset(result.finding.subject))
            for result in results
            if result.finding.outcome is not Outcome.PASS and not result.finding.subject.account
        }
        """Rules that do not pass on what manifests declare, most of which name no account, with the asset."""

    def existing(self, result: Result) -> str:
        """Why a finding does not count as one of the change; empty: it does, or it is no finding."""
        if result.finding.outcome is not Outcome.FAIL or result.suppressed is not None:
            return ""
        if not self.concerns(result):
            return "was there before the change"
        if result.finding.subject.account and not self._is_declared(result) and self._passes_when_declared(result):
            return "was there before the change, which passes this rule"
        return ""

    def _is_declared(self, result: Result) -> bool:
        """Whether the evidence of the finding is from one of the manifests."""
        return any(seen.source in self._files for seen in result.finding.evidence)

    def _passes_when_declared(self, result: Result) -> bool:
        """Whether the rule also judges manifests, and passes on what they declare for the asset."""
        asset, rule = _asset(result.finding.subject), result.rule
        checks = [self._checks[name] for name in rule.checks if name in self._checks]
        judges_manifests = any(Manifests in check.required.values() for check in checks)
        return judges_manifests and asset in self._known and (rule.code, asset) not in self._not_passed

    def concerns(self, result: Result) -> bool:
        """Whether the change causes the finding (a manifest shows it) or changes what it is about."""
        subject = result.finding.subject
        if subject.kind in _REPOSITORY_KINDS:
            return True
        if self._is_declared(result):
            return subject.kind not in _ASSETS or _stream_of(subject) in self._groups
        if subject.kind == "stream":
            return subject.name in self._streams
        return subject.kind == "consumer" and (subject.stream, subject.name) in self._consumers


def _asset(subject: Subject) -> tuple[str, str, str]:
    """A stream or consumer without its account, as manifests name none."""
    return subject.kind, subject.stream, subject.name


def _stream_of(subject: Subject) -> str:
    return subject.name if subject.kind == "stream" else subject.stream


def _stream_changes(declared: DeclaredStream, deployed: Deployed) -> bool:
    """Whether applying the manifest changes the stream; true where that is unknown."""
    current = deployed.stream(declared.name)
    if current is None or declared.planned_action is not PlannedAction.KEPT or declared.mistakes or declared.unknown:
        return True
    wanted = declared.after_update(current.config)
    return comparable(wanted) != comparable(current.config)


def _consumer_changes(declared: DeclaredConsumer, deployed: Deployed) -> bool:
    """Whether applying the manifest changes the consumer; true where that is unknown."""
    current = consumer_of(deployed.stream(declared.stream), declared.name)
    if current is None or declared.planned_action is not PlannedAction.KEPT or declared.mistakes or declared.unknown:
        return True
    names = {"name": current.config.name, "durable_name": current.config.durable_name}
    return comparable(replace(declared.stored, **names)) != comparable(current.config)


def comparable(config: Config) -> Config:
    """The configuration without the metadata that servers add (`_nats.`)."""
    own = {name: value for name, value in config.metadata.items() if not name.startswith("_nats.")}
    return replace(config, metadata=own)
