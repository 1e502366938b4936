"""Which sources of evidence a rule lacks, where several checks could decide it."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import Check
from jsdoctor.engine.diagnosis import any_source
from jsdoctor.model.evidence import Evidence, EvidenceSource
from jsdoctor.model.finding import Finding
from jsdoctor.model.history import History
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.server import Servers
from jsdoctor.model.stored import StoredMessages


def nothing() -> Iterator[Finding]:
    yield from ()


def check(*required: type[Evidence]) -> Check:
    return Check("x", nothing, {str(number): kind for number, kind in enumerate(required)}, {}, False)


def test_each_source_that_suffices_alone_is_one() -> None:
    wanted = [check(Servers, History), check(LogEvidence), check(PacketEvidence)]
    assert any_source(wanted, None) == {EvidenceSource.LOGS, EvidenceSource.PACKETS}


def test_where_none_suffices_alone_the_fewest_are_named() -> None:
    many, few = check(Servers, History, LogEvidence), check(PacketEvidence, StoredMessages)
    for wanted in ([many, few], [few, many]):
        assert any_source(wanted, None) == {EvidenceSource.PACKETS, EvidenceSource.SCAN}


def test_files_that_declare_something_decide_nothing() -> None:
    assert any_source([check(Manifests)], None) == frozenset()
