"""JSD108: messages that a server whose clock was ahead has dated in the future; expiry stops at them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, shown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import span

Verdict = tuple[int, Severity | None, str, dict[str, object]]
"""By how many ns a date is ahead, the severity, the message, and the parameters of the remedy."""


@check("clock_skew.future_dated_messages")
def future_dated_messages(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Compare the dates of a stream's first and last message with each other and with the responding server's clock.

    Expiry walks from the first message and stops at one that is not old enough (server: filestore.go expireMsgs).
    """
    tolerance_ns = params.integer("tolerance")
    for stream in snapshots.last.led_streams():
        state = stream.state
        verdict = None
        if state.messages and state.first_ts is not None and state.last_ts is not None:
            verdict = _verdict(stream, state.first_ts, state.last_ts, tolerance_ns)
        if verdict is None:
            yield passed(stream.subject)
            continue
        ahead_ns, severity, message, remedy = verdict
        yield failed(
            stream.subject,
            message,
            *shown(stream, "state.first_ts", "state.last_ts"),
            stream.observed("ts", stream.at),
            severity=severity,
            measured=(ahead_ns, tolerance_ns, "duration"),
            remedy=remedy,
        )


def _verdict(stream: Stream, first: datetime, last: datetime, tolerance_ns: int) -> Verdict | None:
    if (ahead := _ns_between(first, since=stream.at)) > tolerance_ns:
        words = f"the first message, {stream.state.first_seq:,}, is dated {span(ahead)} in the future"
        if (max_age := stream.config.max_age_ns) > 0:
            effect = f"no message of this stream expires for another {span(ahead + max_age)}"
            return ahead, None, f"{words}: {effect}", _deletion(stream)
        effect = "ids of messages are kept for that much longer as duplicates"
        return ahead, Severity.WARNING, f"{words}: {effect}", _deletion(stream)
    if (ahead := _ns_between(last, since=stream.at)) > tolerance_ns:
        words = f"the last message is dated {span(ahead)} in the future"
        effect = "its id is kept for that much longer as a duplicate"
        return ahead, Severity.WARNING, f"{words}: {effect}", {"action": "stream.inspect"}
    if (ahead := _ns_between(first, since=last)) > tolerance_ns:
        words = f"the first message is dated {span(ahead)} after the last: what follows it expires that much too late"
        return ahead, Severity.WARNING, words, _deletion(stream)
    return None


def _ns_between(moment: datetime, since: datetime) -> int:
    return round((moment - since).total_seconds() * 1e9)


def _deletion(stream: Stream) -> dict[str, object]:
    if stream.config.deny_delete or stream.config.sealed:
        return {"action": "stream.inspect"}
    return {"first_seq": stream.state.first_seq}
