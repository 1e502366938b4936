"""Each kind of evidence has one declaration, and its parts are those of a plan."""

from __future__ import annotations

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.evidence import KINDS
from jsdoctor.model.evidence_kinds import DECLARED, CollectionFacts
from jsdoctor.model.gap import Gaps


def test_every_kind_is_declared_once() -> None:
    assert len({declaration.kind for declaration in DECLARED}) == len(DECLARED)
    assert {declaration.kind for declaration in DECLARED} == set(KINDS) - {Gaps}


def test_parts_are_those_of_a_plan() -> None:
    assert {part for declaration in DECLARED for part in declaration.parts} <= set(CollectionPlan.__struct_fields__)


def test_an_absent_kind_has_how_to_get_it() -> None:
    for declaration in DECLARED:
        gap = declaration.absent(CollectionFacts())
        assert gap.reason, declaration.kind
        assert gap.how_to_get, declaration.kind
        assert not gap.requested, declaration.kind
