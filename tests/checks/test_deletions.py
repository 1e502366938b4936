"""What a change of a stream or of a filter deletes of what is stored, and how exactly that is known."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.checks.declared.deletions import Deletion, lowers_subject_limit, of_change, of_filters
from jsdoctor.model.jetstream import SourceConfig
from jsdoctor.model.snapshot import Consumer, Stream
from tests.checks.test_consumer_progress import RECORDED, SECOND_NS

WHEN = "at once, or by servers before 2.14 with the next publish or restart"


def stored(state: dict[str, Any], **config: Any) -> Stream:
    """A stream of eighty messages that came from 100 to 20 seconds ago, with these settings."""
    at = RECORDED.stream.at
    holds: dict[str, Any] = {"messages": 80, "bytes": 8_000, "num_subjects": 4, "consumer_count": 0}
    holds |= {"first_ts": at - timedelta(seconds=100), "last_ts": at - timedelta(seconds=20), **state}
    limits = {"max_msgs": -1, "max_bytes": -1, "max_age_ns": 0, "max_msgs_per_subject": -1, **config}
    return replace(
        RECORDED.stream,
        state=replace(RECORDED.stream.state, **holds),
        config=replace(RECORDED.stream.config, **limits),
        consumers=(),
    )


def deleted(stream: Stream, counts: dict[str, int] | None = None, server: tuple[int, ...] = (), **change: Any) -> Any:
    """What such a change deletes: nothing, or one thing."""
    deletions = list(of_change(replace(stream.config, **change), stream, server, counts))
    assert len(deletions) <= 1
    return deletions[0] if deletions else None


def test_a_stream_that_refused_messages_deletes_the_oldest_when_it_discards_them() -> None:
    refusing = stored({}, max_msgs=50, discard="new")
    assert deleted(refusing, discard="old").messages == 30
    assert deleted(refusing) is None
    assert deleted(stored({}, discard="new"), discard="old", max_msgs=0, max_bytes=0) is None
    assert deleted(stored({}, max_bytes=8_000, discard="new"), discard="old") is None


def test_of_messages_older_than_the_new_age_an_even_pace_tells_how_many() -> None:
    assert deleted(stored({}), max_age_ns=60 * SECOND_NS) == Deletion(
        "max_age",
        "its oldest message is 1m40s old and max_age becomes 1m: what is older expires at once, about 40 of 80 if they"
        " came at a steady rate",
        40,
        exact=False,
    )


def test_a_mirror_expires_by_its_own_age() -> None:
    """Seen on 2.10.26, 2.12.8 and 2.15.1: the update empties it."""
    mirror = stored({}, mirror=SourceConfig(name="ORIGIN"))
    assert deleted(mirror, max_age_ns=10 * SECOND_NS).messages == 80


@pytest.mark.parametrize(("age_s", "messages"), [(100, None), (99.9, 1), (20, 80), (19, 80)])
def test_at_least_one_message_is_older_than_the_new_age(age_s: float, messages: int | None) -> None:
    deletion = deleted(stored({}), max_age_ns=round(age_s * SECOND_NS))
    assert (deletion.messages if deletion else None) == messages
    assert deletion is None or deletion.exact is (age_s < 20)


def test_a_subject_limit_below_the_average_deletes_for_sure() -> None:
    assert deleted(stored({}), max_msgs_per_subject=19) == Deletion(
        "max_msgs_per_subject",
        f"max_msgs_per_subject becomes 19 and its 4 subjects hold 80 messages: at least 4 are deleted, {WHEN}",
        4,
        exact=False,
    )
    assert deleted(stored({"num_subjects": 1}), max_msgs_per_subject=79).exact is True


@pytest.mark.parametrize(("subjects", "of_them"), [(4, " of its 4"), (0, "")])
def test_a_subject_limit_above_the_average_may_delete(subjects: int, of_them: str) -> None:
    assert deleted(stored({"num_subjects": subjects}), max_msgs_per_subject=20) == Deletion(
        "max_msgs_per_subject",
        f"max_msgs_per_subject becomes 20: whether one{of_them} subjects holds more is not known",
        exact=False,
        unsure=True,
    )


def test_a_subject_limit_that_no_subject_can_reach_deletes_nothing() -> None:
    assert deleted(stored({}), max_msgs_per_subject=76).unsure
    assert deleted(stored({}), max_msgs_per_subject=77) is None
    assert deleted(stored({"num_subjects": 0}), max_msgs_per_subject=80) is None
    assert deleted(stored({}, max_msgs_per_subject=1), max_msgs_per_subject=2) is None
    assert deleted(stored({}, max_msgs_per_subject=2), max_msgs_per_subject=2) is None
    assert not lowers_subject_limit(stored({}, max_msgs_per_subject=80).config, stored({}))


@pytest.mark.parametrize(("server", "known"), [((), True), ((2, 12), False), ((2, 14), True), ((2, 15), True)])
def test_of_a_sealed_stream_servers_before_2_14_delete_nothing_by_subject(server: tuple[int, ...], known: bool) -> None:
    deletion = deleted(stored({}), server=server, max_msgs_per_subject=19, sealed=True)
    assert (deletion is not None) is known


def reader(pending: int, name: str = "reader", **config: Any) -> Consumer:
    return replace(
        RECORDED.last,
        name=name,
        num_pending=pending,
        num_ack_pending=0,
        config=replace(RECORDED.last.config, filter_subject="", filter_subjects=(), **config),
    )


def read_by(*consumers: Consumer, **config: Any) -> Stream:
    return replace(stored({"consumer_count": len(consumers)}, **config), consumers=consumers, consumers_seen=True)


def test_with_interest_retention_what_nobody_wants_is_dropped() -> None:
    text = "with interest retention it drops the messages that"
    assert deleted(read_by(), retention="interest") == Deletion(
        "retention", f"{text} no consumer has a claim on", 80, exact=True
    )
    assert deleted(read_by(reader(30)), retention="interest") == Deletion(
        "retention", f"{text} all its consumers have acknowledged", 50, exact=True
    )
    assert deleted(read_by(reader(30), reader(20, "b")), retention="interest") == Deletion(
        "retention", f"{text} all its consumers have acknowledged", 30, exact=False
    )
    unknown = deleted(read_by(reader(30, deliver_policy="last")), retention="interest")
    assert (unknown.messages, unknown.exact) == (None, False)


@pytest.mark.parametrize(("server", "drops"), [((), True), ((2, 12), False), ((2, 14), True)])
def test_servers_from_2_14_on_drop_it_at_once(server: tuple[int, ...], drops: bool) -> None:
    assert (deleted(read_by(), server=server, retention="interest") is not None) is drops


def left_out(others: tuple[tuple[str, ...], ...], old: tuple[str, ...], new: tuple[str, ...]) -> Deletion | None:
    """What a change from the old to the new filters deletes beside other consumers with such filters."""
    current = replace(reader(30), config=replace(reader(30).config, filter_subjects=old))
    beside = [
        replace(reader(0, f"other{number}"), config=replace(reader(0).config, filter_subjects=filters))
        for number, filters in enumerate(others)
    ]
    stream = read_by(current, *beside, retention="interest", subjects=("orders.>",))
    return of_filters(replace(current.config, filter_subjects=new), current, stream)


def test_filters_that_leave_a_subject_out_delete_what_was_kept_for_it() -> None:
    text = "its filters leave out 'orders.new', and an interest stream keeps no message that no consumer wants"
    assert left_out((), ("orders.new",), ("orders.paid",)) == Deletion(
        "filter_subject", f"{text}: 30 are deleted", 30, exact=True
    )
    up_to = Deletion("filter_subject", f"{text}: up to 30 are deleted", 30, exact=False)
    assert left_out((), ("orders.new", "orders.paid"), ("orders.paid",)) == up_to
    assert left_out((("orders.paid",),), ("orders.new",), ("orders.paid",)) == up_to


def test_what_another_consumer_wants_is_kept() -> None:
    assert left_out(((),), ("orders.new",), ("orders.paid",)) is None
    assert left_out((("orders.new",),), ("orders.new",), ("orders.paid",)) is None
    assert left_out((("orders.new",),), ("orders.new", "orders.sent"), ("orders.paid",)) is not None
    assert left_out((("orders.paid",), ()), ("orders.new",), ("orders.paid",)) is None
