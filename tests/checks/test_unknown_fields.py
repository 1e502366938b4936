"""What a plan leaves open is not judged: a rule whose result depends on a field says that it needs the field."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from jsdoctor.manifests.terraform import CONSUMER, STREAM
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Manifests, Tool
from jsdoctor.model.setting import FieldKind, FieldRow, rows
from tests.support.manifest_cases import declared_rules, manifest_evidence_of
from tests.support.rule_case import listed
from tests.support.ruleset import run_rule

Asset = DeclaredStream | DeclaredConsumer

_MINUTE_NS = 60_000_000_000
_WORDS: dict[str, tuple[object, ...]] = {
    "ack_policy": ("none", "explicit"),
    "deliver_policy": ("all", "new"),
    "discard": ("old", "new"),
    "retention": ("limits", "workqueue", "interest"),
    "storage": ("file", "memory"),
    "filter_subject": ("", "nothing.publishes.this", ">"),
    "filter_subjects": ((), ("nothing.publishes.this",), (">",)),
    "subjects": ((), ("a",), (">",)),
    "backoff": ((), (1_000_000, 2_000_000), (_MINUTE_NS, 2 * _MINUTE_NS)),
}
_NUMBERS = (-1, 0, 1, 2, 3, 1_000_000_000)
_DURATIONS_NS = (0, 1_000_000, _MINUTE_NS, 365 * 24 * 60 * _MINUTE_NS)
_NAMES = {"name", "durable_name", "stream_name"}
"""Without these nobody knows which asset it is; they have cases of their own."""
OPEN = {
    StreamConfig: {field.name for field in STREAM.values()} - _NAMES,
    ConsumerConfig: {field.name for field in CONSUMER.values()} - _NAMES,
}
"""What a plan of Terraform may leave open, by the server's names."""


def values(row: FieldRow) -> tuple[object, ...]:
    """What a plan may turn out to put there."""
    of_kind = {FieldKind.FLAG: (False, True), FieldKind.DURATION: _DURATIONS_NS}
    of_kind |= dict.fromkeys((FieldKind.NUMBER, FieldKind.BYTES), _NUMBERS)
    return _WORDS.get(row.name) or of_kind.get(row.kind, ())


class Case:
    """A case of a rule, in which one asset can be replaced."""

    def __init__(self, code: str, case: dict[str, Any]) -> None:
        self.code, self.about, self.params = code, case["about"], case.get("params")
        self.evidence = manifest_evidence_of(case)
        manifests = self.evidence.get(Manifests)
        assert manifests is not None
        self.manifests = manifests

    def assets(self) -> Iterator[tuple[str, int, Asset]]:
        """Each asset that its tool takes, with its place in the manifests."""
        for kind in ("streams", "consumers"):
            for place, asset in enumerate(getattr(self.manifests, kind)):
                if not asset.mistakes:
                    yield kind, place, asset

    def results(self, kind: str, place: int, asset: Asset) -> list[tuple[str, Outcome, Severity]]:
        """What the rule says when this asset stands there."""
        several = [*getattr(self.manifests, kind)]
        several[place] = asset
        changed = self.evidence.joined(msgspec.structs.replace(self.manifests, **{kind: tuple(several)}))
        results = run_rule(self.code, changed, self.params, keep_passes=True).results
        return sorted((r.finding.subject.label, r.finding.outcome, r.severity) for r in results)


def with_value(asset: Asset, row: FieldRow, value: object) -> Asset:
    """As a plan has it."""
    config = msgspec.structs.replace(asset.config, **{row.attribute: value})
    return msgspec.structs.replace(asset, config=config, tool=Tool.TERRAFORM)


@pytest.mark.parametrize("code", declared_rules())
def test_what_depends_on_an_unknown_field_is_not_judged(code: str) -> None:
    tried: set[tuple[type, str]] = set()
    for case in (Case(code, manifest_case) for manifest_case in listed(code, "manifest_case")):
        for kind, place, asset in case.assets():
            for row in rows(type(asset.config)):
                about = type(asset.config), row.name
                if about in tried or row.name not in OPEN[type(asset.config)]:
                    continue
                known = [case.results(kind, place, with_value(asset, row, value)) for value in values(row)]
                if all(judgements == known[0] for judgements in known):
                    continue
                tried.add(about)
                left_open = msgspec.structs.replace(with_value(asset, row, row.default), unknown=frozenset({row.name}))
                outcomes = {outcome for _, outcome, _ in case.results(kind, place, left_open)}
                assert Outcome.NOT_EVALUATED in outcomes, (row.name, case.about, outcomes)
