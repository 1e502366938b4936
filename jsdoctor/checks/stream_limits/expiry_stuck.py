"""JSD611: messages that max_age should have removed long ago are still stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jsdoctor.checks.registry import check
from jsdoctor.checks.streams.limits import histories
from jsdoctor.model.finding import Finding, failed, passed, shown, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.trend import StreamHistory, Trend
from jsdoctor.model.wording import span

_NS = 1_000_000_000
_JITTER_NS = _NS
"""A message may be dated this far ahead of the reply: clocks differ, and replies are dated before streams are read."""


@check("stream_limits.expiry_stuck")
def expiry_stuck(snapshots: SnapshotSeries, trend: Trend | None, params: Params) -> Iterator[Finding]:
    """Judge the age of the oldest messages, by the clock of the server that responded.

    Expiry stops at the first message that is young enough (server: filestore.go expireMsgs), so that one dated in the
    future keeps all messages behind it.
    """
    slack_ns, slack_share = params.integer("overshoot"), params.number("overshoot_fraction")
    seen_before = histories(trend)
    for stream in snapshots.last.led_streams():
        if not _expires(stream):
            continue
        allowed_ns = stream.config.max_age_ns + max(slack_ns, int(stream.config.max_age_ns * slack_share))
        oldest_ns, newest_ns = _age_ns(stream, stream.state.first_ts), _age_ns(stream, stream.state.last_ts)
        age_ns = max(oldest_ns, newest_ns)
        if age_ns > allowed_ns and not _is_moving(seen_before.get((stream.account, stream.name))):
            hidden = oldest_ns < -_JITTER_NS
            yield failed(
                stream.subject,
                f"messages {span(age_ns)} old are still stored although max_age is {span(stream.config.max_age_ns)}"
                + (": the first message is dated in the future and nothing behind it expires" if hidden else ""),
                stream.observed("config.max_age", stream.config.max_age_ns),
                *shown(stream, "state.first_ts", "state.last_ts"),
                measured=(age_ns, allowed_ns, "duration"),
                remedy={"first_seq": stream.state.first_seq},
            )
        elif oldest_ns < -_JITTER_NS:
            yield unknown(
                stream.subject,
                f"its first message is dated {span(-oldest_ns)} in the future and hides how old those behind it are",
                "see JSD108; `nats stream get` shows the times of the messages behind it",
            )
        else:
            yield passed(stream.subject)


def _expires(stream: Stream) -> bool:
    """Whether max_age should remove the oldest message. Mirrors count from arrival, and TTLs may keep a message."""
    config = stream.config
    exempt = config.sealed or config.allow_msg_ttl or config.mirror is not None
    return config.max_age_ns > 0 and stream.state.messages > 0 and not exempt


def _age_ns(stream: Stream, moment: datetime | None) -> int:
    return int((stream.at - moment).total_seconds() * _NS) if moment else 0


def _is_moving(history: StreamHistory | None) -> bool:
    """Whether the first sequence moved between the samples: a long backlog takes time to expire."""
    return history is not None and history.last.state.first_seq > history.first.state.first_seq
