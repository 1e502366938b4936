"""The order of the steps of a change."""

import pytest

from jsdoctor.engine.manifest_change import Planned, apply_order
from jsdoctor.model.change import ChangeAction
from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import ExternalStream, SourceConfig, StreamConfig


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


def consumer(name: str, action: ChangeAction = ChangeAction.CREATE) -> Planned:
    return Planned(Subject(kind="consumer", name=name, stream="S"), action)


def retention(before: str | None, after: str) -> Planned:
    former = StreamConfig("S", ("s",), retention=before) if before else None
    return Planned(
        Subject(kind="stream", name="S"), ChangeAction.UPDATE, former, StreamConfig("S", ("s",), retention=after)
    )


def copy(name: str, *origins: SourceConfig) -> Planned:
    config = StreamConfig(name, (), sources=origins)
    return Planned(Subject(kind="stream", name=name), ChangeAction.CREATE, None, config)


def test_a_consumer_waits_for_its_stream_and_no_other() -> None:
    other = Planned(Subject(kind="stream", name="T"), ChangeAction.CREATE, None, StreamConfig("T", ("t",)))
    steps = [consumer("c"), consumer("d", ChangeAction.DELETE), other, retention(None, "limits")]
    assert apply_order(steps) == [
        (1, ""),
        (2, ""),
        (3, "after the deletion of its consumer d"),
        (0, "after its stream S"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        ("limits", "interest", [(1, ""), (0, "after consumer c: interest retention drops what no consumer wants")]),
        ("interest", "interest", [(0, ""), (1, "after its stream S")]),
        ("interest", "limits", [(0, ""), (1, "after its stream S")]),
        (None, "interest", [(0, ""), (1, "after its stream S")]),
    ],
)
def test_a_stream_that_becomes_one_of_interest_waits_for_its_consumers(
    before: str | None, after: str, order: list[tuple[int, str]]
) -> None:
    assert apply_order([retention(before, after), consumer("c")]) == order


def test_each_reason_to_wait_is_stated_once() -> None:
    deletions = [consumer("c", ChangeAction.DELETE), consumer("d", ChangeAction.DELETE)]
    assert apply_order([retention("limits", "limits"), *deletions]) == [
        (1, ""),
        (2, ""),
        (0, "after the deletion of its consumer c; after the deletion of its consumer d"),
    ]
    gone = Planned(Subject(kind="stream", name="S"), ChangeAction.DELETE, StreamConfig("S", ("s",)))
    recreated = Planned(Subject(kind="stream", name="S", account="A"), ChangeAction.DELETE, StreamConfig("S", ("s",)))
    assert apply_order([stream("T", (), ("s",)), gone, recreated])[-1] == (
        *(0, "after S, which gives up subjects that it takes"),
    )


def test_a_copy_waits_for_its_origin_unless_that_is_elsewhere() -> None:
    far = SourceConfig("FAR", external=ExternalStream("$JS.hub.API"))
    near = [copy("NEAR"), copy("FAR")]
    assert apply_order([copy("ALL", far, SourceConfig("NEAR")), *near]) == [
        (1, ""),
        (0, "after NEAR, from which it copies"),
        (2, ""),
    ]
    gone = Planned(Subject(kind="stream", name="NEAR"), ChangeAction.DELETE, StreamConfig("NEAR", ("n",)))
    assert apply_order([copy("ALL", SourceConfig("NEAR")), gone]) == [(0, ""), (1, "")]
