"""How full a stream is against each of its limits, and how fast it fills."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from jsdoctor.model.finding import Observation
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.trend import StreamHistory, Trend

Histories = Mapping[tuple[str, str], StreamHistory]

_NS = 1_000_000_000


class StreamLimitUse(msgspec.Struct, frozen=True):
    """One limit of a stream and what is used of it. `no_room`: nothing more fits."""

    noun: str
    used: int
    limit: int
    used_path: str
    limit_path: str
    no_room: bool

    @property
    def share(self) -> float:
        """The used part of the limit."""
        return self.used / self.limit

    @property
    def key(self) -> str:
        """The configuration's name of the limit."""
        return self.limit_path.rpartition(".")[2]

    def observed(self, stream: Stream) -> tuple[Observation, ...]:
        """Both numbers as evidence."""
        return (stream.observed(self.used_path, self.used), stream.observed(self.limit_path, self.limit))


def storage_fills(stream: Stream) -> tuple[StreamLimitUse, ...]:
    """The stream against `max_msgs` and `max_bytes`, where it has them.

    Bytes have no room when a message of average size does not fit (server: filestore.go storeRawMsg, ErrMaxBytes).
    """
    state, config, uses = stream.state, stream.config, []
    if config.max_msgs > 0:
        full = state.messages >= config.max_msgs
        uses.append(
            StreamLimitUse("messages", state.messages, config.max_msgs, "state.messages", "config.max_msgs", full)
        )
    if config.max_bytes > 0:
        full = state.messages > 0 and config.max_bytes - state.bytes < state.bytes // state.messages
        uses.append(StreamLimitUse("bytes", state.bytes, config.max_bytes, "state.bytes", "config.max_bytes", full))
    return tuple(uses)


def consumer_fill(stream: Stream, default_limit: int = 0) -> StreamLimitUse | None:
    """The stream against `max_consumers`, else against its server's default; None where it has neither."""
    used, limit = stream.state.consumer_count, stream.config.max_consumers
    path = "config.max_consumers" if limit > 0 else "limits.default_max_consumers"
    limit = limit if limit > 0 else default_limit
    return StreamLimitUse("consumers", used, limit, "state.consumer_count", path, used >= limit) if limit > 0 else None


def refuses_when_full(stream: Stream) -> bool:
    """Whether a full stream turns new messages away to the harm of its publishers.

    A sealed one turns all away, full or not: that is no limit. Clients of a governor rely on being turned away.
    """
    return stream.config.discard == "new" and not stream.config.sealed and not stream.is_governor


def histories(trend: Trend | None) -> Histories:
    """Every stream's readings by account and name."""
    return {(h.last.account, h.last.name): h for h in trend.streams()} if trend else {}


def time_to_full_ns(fill: StreamLimitUse, history: StreamHistory | None) -> int | None:
    """How long until the limit is reached at the present rate; None if it does not grow, or was not measured."""
    if history is None:
        return None
    before, after = (
        getattr(reading.state, fill.used_path.rpartition(".")[2]) for reading in (history.first, history.last)
    )
    grown = after - before
    if grown <= 0:
        return None
    return int((fill.limit - fill.used) / grown * history.elapsed_s * _NS)


def larger_limits(stream: Stream, *fills: StreamLimitUse) -> dict[str, object]:
    """Values for the remedy that doubles the limits which are (nearly) reached."""
    return {"no_ack": stream.config.no_ack} | {fill.key: 2 * fill.limit for fill in fills}
