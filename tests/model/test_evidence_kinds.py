"""Each kind of evidence says where it comes from and why it is missing, and is listed."""

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.evidence import Evidence, Gaps
from jsdoctor.model.evidence_kinds import KINDS


def test_every_kind_is_listed_once() -> None:
    assert sorted(KINDS, key=str) == sorted(set(Evidence.__subclasses__()) - {Gaps}, key=str)


def test_parts_are_those_of_a_plan() -> None:
    assert {part for kind in KINDS for part in kind.parts} <= set(CollectionPlan.__struct_fields__)
