"""The order of the steps of a change."""

from __future__ import annotations

from jsdoctor.engine.apply_order import Planned, apply_order
from jsdoctor.model.change import ChangeAction
from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import StreamConfig


def stream(name: str, before: tuple[str, ...], after: tuple[str, ...]) -> Planned:
    subject = Subject(kind="stream", name=name)
    return Planned(subject, ChangeAction.UPDATE, StreamConfig(name, before), StreamConfig(name, after))


def test_streams_that_swap_subjects_cannot_be_ordered() -> None:
    first, second = apply_order([stream("A", ("a",), ("b",)), stream("B", ("b",), ("a",))])
    assert first == (0, "it and B wait for each other: apply the change in smaller parts")
    assert second[0] == 1


def test_a_deleted_consumer_goes_before_its_stream() -> None:
    deleted = Planned(Subject(kind="stream", name="S"), ChangeAction.DELETE, StreamConfig("S", ("s",)))
    consumer = Planned(Subject(kind="consumer", name="c", stream="S"), ChangeAction.DELETE)
    assert [place for place, _ in apply_order([deleted, consumer])] == [1, 0]


def test_a_deleted_stream_frees_its_subjects_first() -> None:
    deleted = Planned(Subject(kind="stream", name="OLD"), ChangeAction.DELETE, StreamConfig("OLD", ("s.>",)))
    new = Planned(Subject(kind="stream", name="NEW"), ChangeAction.CREATE, None, StreamConfig("NEW", ("s.*",)))
    assert apply_order([new, deleted]) == [(1, ""), (0, "after OLD, which gives up subjects that it takes")]
