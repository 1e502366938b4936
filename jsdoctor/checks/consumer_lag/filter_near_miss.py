"""JSD429: a filter that never matched and differs by a letter, or a `*` for `>`, from a subject that has messages."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, shown, unknown
from jsdoctor.model.near_subjects import FilterSubjects, Nearness, NearSubject, NearSubjects
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.subjects import overlaps_any, subject_contains
from jsdoctor.model.wording import counted

_DIFFERENCES = {
    Nearness.CASE: "differs in upper and lower case only",
    Nearness.LETTER: "differs in one letter",
    Nearness.END: "differs in its last letter",
    Nearness.DEPTH: "takes more than one token where * takes one",
}


@check("consumer_lag.filter_near_miss")
def filter_near_miss(snapshots: SnapshotSeries, subjects: NearSubjects | None, params: Params) -> Iterator[Finding]:
    """Compare filters that never matched with subjects that have messages: the server accepts misspelt filters."""
    least = params.integer("min_messages")
    for stream, consumer in snapshots.last.led_consumers():
        filters = [own_filter for own_filter in consumer.config.filters if _may_be_wrong(own_filter, stream)]
        if not filters:
            continue
        several = len(consumer.config.filters) > 1
        if not stream.state.messages or (_has_matched(consumer) and not several):
            yield passed(consumer.subject)
            continue
        seen = [subjects.of(stream.account, stream.name, own_filter) if subjects else None for own_filter in filters]
        missed = [(known, near) for known in seen if known and (near := _intended_subject(known, consumer, least))]
        if missed:
            yield _finding(stream, consumer, *missed[0])
        elif None in seen:
            yield unknown(consumer.subject, *_unseen(stream, consumer, subjects))
        else:
            yield passed(consumer.subject)


def _has_matched(consumer: Consumer) -> bool:
    """Whether one of its filters ever matched a message. The server does not report which of several did."""
    return bool(consumer.num_pending or consumer.delivered.consumer_seq)


def _intended_subject(known: FilterSubjects, consumer: Consumer, least: int) -> NearSubject | None:
    """The subject that was probably meant: one with messages, which no other filter of the consumer matches."""
    if known.matching:
        return None
    others = [filter_ for filter_ in consumer.config.filters if filter_ != known.filter]
    near = [near for near in known.near if not _is_matched(near, others)]
    return near[0] if near and near[0].messages >= least else None


def _is_matched(near: NearSubject, others: list[str]) -> bool:
    """Whether another filter of the consumer matches it; of a pattern, whether one may match some of its messages."""
    if near.nearness is Nearness.DEPTH:
        return overlaps_any(near.subject, tuple(others))
    return any(subject_contains(other, near.subject) for other in others)


def _may_be_wrong(filter_: str, stream: Stream) -> bool:
    """Whether a filter is within the stream's subjects (else: JSD416) and not one of them, which is no typing error."""
    return filter_ not in stream.config.subjects and overlaps_any(filter_, stream.config.subjects)


def _unseen(stream: Stream, consumer: Consumer, subjects: NearSubjects | None) -> tuple[str, str]:
    many = {(a, s): number for a, s, number in subjects.too_many} if subjects else {}
    compare = f"compare its filter with: nats stream subjects {stream.name}"
    what = (
        "which of its filters ever matched is not known"
        if _has_matched(consumer)
        else "nothing ever matched its filter"
    )
    if number := many.get(stream.key):
        return f"{what}, and the stream has {number:,} subjects, too many to request", compare
    return (
        f"{what}, and the subjects of the stream were not seen",
        f"add a login of account {stream.account}, or {compare}",
    )


def _finding(stream: Stream, consumer: Consumer, missed: FilterSubjects, near: NearSubject) -> Finding:
    # The other filters of the consumer had messages: of this one, only a complete stream shows that it never had any.
    ever = not _has_matched(consumer) or stream.state.messages == stream.state.last_seq
    sure = (
        ever
        and near.nearness not in (Nearness.END, Nearness.DEPTH)
        and _would_have_got_them(stream, consumer)
        and not _is_read(near, consumer, stream)
    )
    nothing = "nothing ever matched" if ever else "no stored message matches"
    return failed(
        consumer.subject,
        f"{nothing} its filter {missed.filter!r}, while {counted(near.messages, 'message')}"
        f" {'is' if near.messages == 1 else 'are'} stored under {near.subject!r}, which {_DIFFERENCES[near.nearness]}",
        consumer.observed("config.filter_subjects", list(consumer.config.filters)),
        *shown(consumer, "delivered.consumer_seq", "num_pending"),
        stream.observed(f"state.subjects[{near.subject}]", near.messages),
        severity=None if sure else Severity.INFO,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
        measured=(near.messages, 0, "count"),
    )


def _would_have_got_them(stream: Stream, consumer: Consumer) -> bool:
    """Whether the consumer would have got what is stored, had its filter matched: by its policy, or by its age."""
    if consumer.config.deliver_policy == "all":
        return True
    first = stream.state.first_ts
    return consumer.created is not None and first is not None and consumer.created <= first


def _is_read(near: NearSubject, consumer: Consumer, stream: Stream) -> bool:
    """Whether another consumer filters for exactly that subject: then both names may be intended."""
    return any(near.subject in other.config.filters for other in stream.consumers if other.name != consumer.name)
