"""JSD704: a replica that is behind its leader and does not catch up.

From logs: replicas that health checks found behind, and whether they ever caught up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.checks.cluster_health.raft import histories_of, is_heard, label
from jsdoctor.checks.logs.log_findings import findings_by_subject
from jsdoctor.checks.logs.log_incidents import log_incidents
from jsdoctor.checks.monitor_metadata import own_count
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, suspected
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, StreamHistory, Trend
from jsdoctor.model.wording import span

_SHRINKING = 0.9
_SMALLEST_LAG = 10
"""A lag of fewer entries never counts, however small the stream."""


class _Lag(msgspec.Struct, frozen=True):
    """One peer's lag, and how many entries the group had meanwhile. `begun`: the peer does not lag in every reading."""

    peer: Peer
    first: int
    smallest: int
    taken_in: int
    elapsed_s: float
    begun: bool

    @property
    def behind_ns(self) -> int:
        """How long the leader needs to take in as much as the peer lacks; very long when it takes in nothing."""
        return int(self.peer.lag * self.elapsed_s * 1e9 / self.taken_in) if self.taken_in > 0 else 1 << 62

    @property
    def is_stuck(self) -> bool:
        """Whether the group had no new entries for a second or more, and the lag did not change."""
        return self.taken_in == 0 and self.first == self.peer.lag and self.elapsed_s >= 1


@check("cluster_health.replica_lagging")
def replica_lagging(trend: Trend, params: Params) -> Iterator[Finding]:
    """Lag counts Raft entries, not messages (server: raft.go Peers). Only the leader's figures mean anything."""
    warn_lag = params.integer("warn_lag")
    share, delay_ns, silence_ns = params.number("min_share"), params.integer("max_delay"), params.integer("silence")
    for history in histories_of(trend):
        last = history.last
        if last.cluster is None or not last.cluster.replicas:
            continue
        fail = own_count(params, "fail_lag", last.config.metadata, "peer-lag-critical")
        warn = min(warn_lag, fail)
        lags = [lag for lag in _lags(history, silence_ns) if _is_behind(lag, warn, share * _entries(last), delay_ns)]
        late = [lag for lag in lags if not lag.begun]
        if not late and lags:
            behind = ", ".join(f"{label(lag.peer)} is {lag.peer.lag:,} entries behind" for lag in lags)
            reason = f"{behind} in the newest sample, and was not before"
            yield suspected(last.subject, reason, "run with --samples 4")
            continue
        if not late:
            yield passed(last.subject)
            continue
        worst = max(late, key=lambda lag: lag.peer.lag)
        limit = fail if worst.smallest >= fail else None if worst.is_stuck else _min_lag(warn, share * _entries(last))
        yield failed(
            last.subject,
            _message(late, worst),
            *(last.observed(f"cluster.replicas[{label(lag.peer)}].lag", lag.peer.lag) for lag in late),
            severity=None if worst.smallest >= fail else Severity.WARNING,
            measured=(worst.peer.lag, limit, "count"),
        )


def _lags(history: StreamHistory | ConsumerHistory, silence_ns: int) -> Iterator[_Lag]:
    """Peers in contact with their leader that lag, in every reading or since a later one. JSD703 judges those without
    contact.
    """
    readings = [reading.cluster.replicas if reading.cluster else () for reading in history.readings]
    taken_in = _entries(history.last) - _entries(history.first)
    for peer in readings[-1]:
        if peer.lag <= 0 or peer.current or not is_heard(peer, silence_ns):
            continue
        lags = [next((p.lag for p in peers if label(p) == label(peer)), 0) for peers in readings]
        if min(lags) == 0 or lags[-1] >= _SHRINKING * lags[0]:
            yield _Lag(peer, lags[0], min(lags) or peer.lag, taken_in, history.elapsed_s, begun=min(lags) == 0)


def _entries(asset: Stream | Consumer) -> int:
    """About how many Raft entries the group has had: messages of a stream, deliveries and acks of a consumer."""
    if isinstance(asset, Stream):
        return asset.state.last_seq
    return asset.delivered.consumer_seq + asset.ack_floor.consumer_seq


def _is_behind(lag: _Lag, warn: int, share: float, delay_ns: int) -> bool:
    """Whether a peer is stuck, or behind by time and by a number or a share of all entries."""
    return lag.is_stuck or (lag.behind_ns >= delay_ns and lag.smallest >= _min_lag(warn, share))


def _min_lag(warn: int, share: float) -> int:
    return min(warn, max(int(share), _SMALLEST_LAG))


def _message(late: Sequence[_Lag], worst: _Lag) -> str:
    names = ", ".join(sorted(label(lag.peer) for lag in late))
    pace = f" ({span(worst.behind_ns)} of what the leader takes in)" if worst.taken_in > 0 else ""
    return (
        f"the replica on {names} is {worst.peer.lag:,} entries behind{pace} and does not catch up:"
        " if the leader is lost, it cannot take over at once"
    )


_BEHIND = ("stream-replica-not-current", "consumer-replica-not-current", "meta-not-current")
_EFFECT = "until it is current it cannot take over; look at the disk and the log of that server"


@check("cluster_health.replica_not_current_logged", lines_of="servers")
def replica_not_current_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Servers log this only when their health is probed, once for each probe (server: monitor.go HandleHealthz)."""
    incidents = log_incidents(logs, *_BEHIND, repeats=True)
    yield from findings_by_subject(incidents, "a replica was not current", _EFFECT)
