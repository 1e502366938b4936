"""JSD302: messages without an id in a stream whose publishers send ids, and ids under a header that servers ignore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.dedupe_window.repeats import is_published_to
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages, StoredStream, SubjectIds
from jsdoctor.model.wording import counted

_SHOWN = 3


@check("dedupe_window.message_id_missing")
def message_id_missing(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Find misspelt headers (names are compared byte by byte, client.go getHeader) and publishers that send no id."""
    led = snapshots.last.led_by_key
    for stored_stream in stored.streams:
        stream = led.get((stored_stream.account, stored_stream.stream))
        if stream is None or not is_published_to(stream):
            continue
        without, total = stored_stream.messages - stored_stream.with_id, max(stored_stream.messages, 1)
        share = without / total
        relies = stored_stream.with_id / total >= params.number("relies_share")
        missing = relies and total >= params.integer("min_messages") and share >= params.number("missing_share")
        if stored_stream.misnamed:
            yield _misnamed(stored_stream)
        elif missing:
            yield _missing(stored_stream, without, share, params.number("missing_share"))
        else:
            yield passed(stored_stream.subject)


def _misnamed(stream: StoredStream) -> Finding:
    rows = [row for row in stream.subjects if row.misnamed]
    return failed(
        stream.subject,
        f"{stream.misnamed:,} of {counted(stream.messages, 'message')} carry their id under a header whose name is "
        f"not written Nats-Msg-Id, letter by letter ({_subjects(rows)}): the server does not see it, and each "
        "retry is stored again",
        *(stream.observed(f"{_name(row)} misnamed", row.misnamed) for row in rows[:_SHOWN]),
        severity=Severity.ERROR,
        measured=(stream.misnamed, 0, "count"),
    )


def _missing(stream: StoredStream, without: int, share: float, threshold: float) -> Finding:
    bare = [row for row in stream.subjects if row.without_id and not row.with_id]
    mixed = [row for row in stream.subjects if row.without_id and row.with_id]
    return failed(
        stream.subject,
        f"{stream.with_id:,} messages have an id and {without:,} have none: some publisher does not send it, and "
        f"its retries are stored again; without any id: {_subjects(bare) or 'no subject'}; with and without: "
        f"{_subjects(mixed) or 'no subject'}",
        *(stream.observed(f"{_name(row)} without id", row.without_id) for row in (*bare, *mixed)[:_SHOWN]),
        measured=(share, threshold, "ratio"),
    )


def _subjects(rows: Sequence[SubjectIds]) -> str:
    names = [_name(row) for row in rows[:_SHOWN]]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")


def _name(row: SubjectIds) -> str:
    return row.subject or "other subjects"
