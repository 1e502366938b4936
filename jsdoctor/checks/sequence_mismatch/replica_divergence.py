"""JSD207: a replica whose copy differs from its leader's although it is reported as current without lag.

From logs: copies of one stream that did not fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

import msgspec

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.checks.streams.limits import is_scaled, led_ns
from jsdoctor.model.finding import Finding, Severity, failed, passed, suspected, unknown
from jsdoctor.model.jetstream import Cluster, StreamState
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.release import release
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, StreamHistory, Trend
from jsdoctor.model.wording import span

_SHRINKING = 0.9

_FIELDS: tuple[tuple[str, Callable[[StreamState], int]], ...] = (
    ("messages", lambda state: state.messages),
    ("last_seq", lambda state: state.last_seq),
    ("first_seq", lambda state: state.first_seq if state.messages else state.last_seq + 1),
)
"""Compared values. An empty stream begins after its end; one that never had a message has 0 on some copies."""


class Divergence(msgspec.Struct, frozen=True):
    """One value of one server's copy against the leader's, in the newest reading.

    `is_current`: the leader calls that copy up to date.
    """

    server: str
    field: str
    ours: int
    leaders: int
    is_current: bool = True

    @property
    def is_ahead(self) -> bool:
        """Whether the copy ends further than the leader's: no replication that is late explains that."""
        return self.field == "last_seq" and self.ours > self.leaders

    @property
    def size(self) -> int:
        """How far the two are apart."""
        return abs(self.ours - self.leaders)


def stream_divergences(history: StreamHistory) -> list[Divergence] | None:
    """The lasting differences of each copy; None when no other copy was seen in all readings."""
    readings, last = history.readings, history.last
    if last.replicas and all(_figures(replica.state) == _figures(last.state) for replica in last.replicas):
        return [] if len(last.replicas) > 1 else None
    copies = [{r.server: r.state for r in reading.replicas if not r.is_leader} for reading in readings]
    servers = set.intersection(*(set(copy) for copy in copies)) - {last.answered_by}
    leading, divergences = [reading.state for reading in readings], []
    own_way = sum(_change(leading, value) for _, value in _FIELDS)
    for server in sorted(servers):
        lag = _lag(last.cluster, server)
        states = [copy[server] for copy in copies]
        under_way = (lag or 0) + own_way + sum(_change(states, value) for _, value in _FIELDS)
        for name, value in _FIELDS:
            if _lasts([value(a) - value(b) for a, b in zip(states, leading, strict=True)], under_way):
                divergences.append(Divergence(server, name, value(states[-1]), value(leading[-1]), lag is not None))
    return [d for d in divergences if d.is_current or d.is_ahead] if servers else None


def consumer_divergences(history: ConsumerHistory) -> list[Divergence] | None:
    """Lasting differences in the number of deliveries, the only figure that every copy of a consumer shares.

    None: no other copy was seen in all readings.

    After a purge only the leader moves its floor and its place in the stream (measured on 2.10 to 2.15).
    """
    readings, last = history.readings, history.last
    if last.replicas and all(copy.delivered.consumer_seq == last.delivered.consumer_seq for copy in last.replicas):
        return []
    copies = [{r.server: r.delivered.consumer_seq for r in reading.replicas} for reading in readings]
    servers = set.intersection(*(set(copy) for copy in copies)) - {last.answered_by}
    leading, divergences = [reading.delivered.consumer_seq for reading in readings], []
    for server in sorted(servers):
        counts, lag = [copy[server] for copy in copies], _lag(last.cluster, server)
        moved = abs(leading[-1] - leading[0]) + abs(counts[-1] - counts[0])
        if lag is not None and _lasts([a - b for a, b in zip(counts, leading, strict=True)], lag + moved):
            divergences.append(Divergence(server, "delivered.consumer_seq", counts[-1], leading[-1]))
    return divergences if servers else None


def _figures(state: StreamState) -> tuple[int, int, int]:
    return state.messages, state.first_seq, state.last_seq


def _change(states: Sequence[StreamState], value: Callable[[StreamState], int]) -> int:
    return abs(value(states[-1]) - value(states[0]))


def _lag(cluster: Cluster | None, server: str) -> int | None:
    """How much the leader has yet to send, by its own report; None if it reports the copy as missing or not current.

    JSD703 and JSD704 judge what those lack: replication has noticed it. They do not judge what such a copy has more.
    """
    peer = next((p for p in cluster.replicas if p.name == server), None) if cluster else None
    return None if peer is None or peer.offline or not peer.current else peer.lag


def _lasts(differences: Sequence[int], under_way: int) -> bool:
    """Whether a difference has one sign in all readings, exceeds what is under way in each, and does not shrink."""
    smallest = min(map(abs, differences))
    same_sign = min(differences) > 0 or max(differences) < 0
    return same_sign and smallest > under_way and abs(differences[-1]) > _SHRINKING * abs(differences[0])


def same_leader(readings: Sequence[Stream] | Sequence[Consumer]) -> bool:
    """Whether one server responded as the leader in all readings."""
    return len({reading.answered_by for reading in readings}) == 1


_ALONE = "only its leader's copy was seen in every sample"
_WORDS = {
    "messages": "messages",
    "first_seq": "as its first sequence",
    "last_seq": "as its last sequence",
    "delivered.consumer_seq": "deliveries",
}
_NEW_LEADER = "another server led it in an earlier sample, so the copies cannot be compared over time"
_REMOVES_BY_PROPOSAL = (2, 11)
_ACKNOWLEDGED_GO_NS = 150_000_000_000
"""Within this time, servers look for acknowledged messages that are left (server: stream.go checkInterestState)."""
_SCALED = "its number of replicas is being changed, so its copies come and go"
_IN_A_MINUTE = "run again in a minute"
_SAVE_FIRST = (
    "run again in a minute; publish nothing before that: if it stays so, JSD207 describes how to save that copy"
)


@check("sequence_mismatch.replica_divergence")
def replica_divergence(trend: Trend, servers: Servers, groups: RaftGroups | None, params: Params) -> Iterator[Finding]:
    """Each server's own copy (system account or monitoring) against the leader's, over all samples.

    Followers apply entries a little later, so only a difference that stays is one (server: raft.go, filestore.go).
    """
    more = "run again" if servers.complete else "add --monitor for every server, or use a login of the system account"
    loading = Loading(servers, groups, params.integer("settle"))
    for history in trend.streams():
        if finding := _of_copies(history, servers, loading, more, params):
            yield finding
    for deliveries in trend.consumers():
        if not _peers(deliveries.last) or not same_leader(deliveries.readings):
            continue
        lasting = consumer_divergences(deliveries)
        if lasting is not None:
            yield _judged(deliveries, lasting, loading, params)


def _of_copies(history: StreamHistory, servers: Servers, loading: Loading, more: str, params: Params) -> Finding | None:
    subject, divergences = history.last.subject, stream_divergences(history)
    if not _peers(history.last):
        # Of the only member. Servers of no cluster may have streams of one name.
        alone = (
            [d for d in divergences or () if d.is_ahead] if history.last.cluster and history.last.cluster.name else ()
        )
        return suspected(subject, f"{_SCALED}: {_ends(alone)}", _SAVE_FIRST) if alone else None
    if not same_leader(history.readings):
        return unknown(subject, _NEW_LEADER, "run again")
    if divergences is None:
        return unknown(subject, _ALONE, more)
    apart = [d for d in divergences if not _by_design(history, d, params)]
    if apart and _is_scaled(history):
        ahead = [divergence for divergence in apart if divergence.is_ahead]
        reason, then = (f"{_SCALED}: {_ends(ahead)}", _SAVE_FIRST) if ahead else (_SCALED, _IN_A_MINUTE)
        return suspected(subject, reason, then)
    # The servers that hold the stream.
    names = {history.last.answered_by, *(replica.server for replica in history.last.replicas)}
    members = [server for server in servers.servers if server.name in names]
    if apart and all(_may_be_acknowledged(history.last, d, members, params) for d in apart):
        if any(() < release(member.version) < _REMOVES_BY_PROPOSAL for member in members):
            return _keeping(history.last, apart)
        if young := [member for member in members if (uptime_ns(member) or _ACKNOWLEDGED_GO_NS) < _ACKNOWLEDGED_GO_NS]:
            why = (
                f"{', '.join(server.name for server in young)} started less than {span(_ACKNOWLEDGED_GO_NS)} ago: after"
                " an upgrade from 2.10, copies keep acknowledged messages until their servers look for them, every two"
                " minutes"
            )
            return suspected(subject, why, "run again in three minutes")
    return _judged(history, apart, loading, params)


def _peers(asset: Stream | Consumer) -> Sequence[object]:
    return asset.cluster.replicas if asset.cluster else ()


def _is_scaled(history: StreamHistory) -> bool:
    """Whether the samples show another number of replicas, or more members than the stream is to have."""
    last = history.last
    return is_scaled(history.readings) or len(_peers(last)) + 1 > last.config.num_replicas


def _ends(ahead: Sequence[Divergence]) -> str:
    return ", ".join(f"{d.server} ends at sequence {d.ours:,}, the leader at {d.leaders:,}" for d in ahead)


def _has_led(history: StreamHistory | ConsumerHistory, settle_ns: int) -> bool:
    """Whether the leader has led for at least that time; where none is reported, the samples must show it."""
    led = led_ns(history.last)
    return (int(history.elapsed_s * 1e9) if led is None else led) >= settle_ns


def _is_large(size: int, whole: int, params: Params) -> tuple[bool, bool]:
    """By number, and by share of the whole."""
    return size >= params.integer("min_messages"), size >= params.number("min_share") * max(whole, 1)


def _by_design(history: StreamHistory, divergence: Divergence, params: Params) -> bool:
    """Whether every server removes messages when it sees fit, and this is no more than that.

    Each expires by its own clock, and acknowledgements remove messages from each copy when they reach it. One that
    arrives there before its message leaves that in the copy for a while, whose first sequence is then far behind.
    """
    stream = history.last
    if divergence.field == "last_seq":
        return False
    if stream.config.max_age_ns > 0 and _expires_now(stream, divergence.server, params):
        return True
    removes = stream.config.retention != "limits" or stream.config.allow_msg_ttl
    return removes and (
        divergence.field == "first_seq" or not all(_is_large(divergence.size, stream.state.messages, params))
    )


def _may_be_acknowledged(stream: Stream, divergence: Divergence, members: Sequence[Server], params: Params) -> bool:
    """Whether what one copy has more may be messages that were acknowledged while a member was older than 2.11.

    Such a member removes them by itself. Later ones remove what the consumer's leader proposes, and an older leader
    proposes nothing (server: stream.go ackMsg). What the leader of the stream has more than its consumers acknowledged
    is missing in the other copy.
    """
    if stream.config.retention == "limits" or divergence.field != "messages":
        return False
    has_more = divergence.ours > divergence.leaders
    keeper = divergence.server if has_more else stream.answered_by
    version = next((release(member.version) for member in members if member.name == keeper), ())
    if version < _REMOVES_BY_PROPOSAL:
        return False
    return has_more or not all(_is_large(divergence.size - _acknowledged(stream), stream.state.messages, params))


def _acknowledged(stream: Stream) -> int:
    """How many of the leader's messages were acknowledged, at most: those up to the highest ack floor."""
    floor = max((c.ack_floor.stream_seq for c in stream.consumers if c.from_leader), default=0)
    return max(floor - stream.state.first_seq + 1, 0)


def _keeping(stream: Stream, divergences: Sequence[Divergence]) -> Finding:
    most = max(divergences, key=attrgetter("size"))
    kept = ", ".join(f"{d.server} has {d.ours:,} messages, the leader {d.leaders:,}" for d in divergences)
    return failed(
        stream.subject,
        f"{kept}: servers from 2.11 on keep acknowledged messages as long as a consumer is led by an older"
        " server, and remove them when all members are upgraded",
        stream.observed("state.messages", most.leaders),
        *(stream.observed(f"copy[{d.server}].messages", d.ours) for d in divergences),
        severity=Severity.INFO,
        measured=(most.size, 0, "count"),
    )


def _expires_now(stream: Stream, server: str, params: Params) -> bool:
    """Whether the older of the two first messages is due about now."""
    copy = next(replica for replica in stream.replicas if replica.server == server)
    first = min((ts for ts in (stream.state.first_ts, copy.state.first_ts) if ts), default=None)
    if first is None:
        return True
    overdue_ns = int((stream.at - first).total_seconds() * 1e9) - stream.config.max_age_ns
    return abs(overdue_ns) <= params.integer("expiry_grace")


def _judged(
    history: StreamHistory | ConsumerHistory, divergences: Sequence[Divergence], loading: Loading, params: Params
) -> Finding:
    asset = history.last
    if not divergences:
        return passed(asset.subject)
    lasting = {d.server for d in divergences if d.is_ahead} if _has_led(history, params.integer("settle")) else set()
    busy = [d for d in divergences if _is_unsettled(d, asset, loading, d.server in lasting)]
    if busy:
        names = ", ".join(sorted({d.server for d in busy}))
        ahead = [d for d in divergences if d.is_ahead]
        reason = f"{names} differs from the leader, but was started just now, has a new copy, or is catching up"
        again = "run again when its health check is ok, half a minute after its start"
        return suspected(
            asset.subject, f"{reason}: {_ends(ahead)}" if ahead else reason, _SAVE_FIRST if ahead else again
        )
    worst = max(divergences, key=attrgetter("size"))
    whole = asset.state.messages if isinstance(asset, Stream) else asset.delivered.consumer_seq
    largest = [
        max((d for d in divergences if d.server == name), key=attrgetter("size"))
        for name in sorted({d.server for d in divergences})
    ]
    return failed(
        asset.subject,
        _apart(history, divergences, largest),
        asset.observed(worst.field if isinstance(asset, Consumer) else f"state.{worst.field}", worst.leaders),
        *(asset.observed(f"copy[{d.server}].{d.field}", d.ours) for d in divergences),
        severity=None if any(_is_large(worst.size, whole, params)) else Severity.WARNING,
        measured=(worst.size, 0, "count"),
    )


def _is_unsettled(divergence: Divergence, asset: Stream | Consumer, loading: Loading, is_lasting: bool) -> bool:
    """Whether it may pass by itself; `is_lasting`: the copy ends further than that of a leader of some time."""
    has_more = divergence.ours > divergence.leaders
    if is_lasting:
        return loading.is_busy(divergence.server, asset, has_more, counts_complaints=False)
    return not divergence.is_current or loading.is_busy(divergence.server, asset, has_more)


def _apart(
    history: StreamHistory | ConsumerHistory, divergences: Sequence[Divergence], largest: Sequence[Divergence]
) -> str:
    duration = span(int(history.elapsed_s * 1e9))
    if ahead := [divergence for divergence in divergences if divergence.is_ahead]:
        names = ", ".join(divergence.server for divergence in ahead)
        return (
            f"{_ends(ahead)}, for {duration}: clients miss what the leader lacks, and it is lost when such a server"
            f" copies the stream again; stop publishing and save the copy of {names} first"
        )
    apart = ", ".join(f"{d.server} has {d.ours:,} {_WORDS[d.field]}, the leader {d.leaders:,}" for d in largest)
    effect = "readers find another stream" if isinstance(history, StreamHistory) else "the consumer goes on from there"
    return (
        f"{apart}, for {duration} and without catching up, though replication calls it up to date: when that server"
        f" leads, {effect}"
    )


_FAULTS = {
    "replica-apply-mismatch": "what the leader sent did not fit the copy of a follower",
    "catchup-past-leader": "a follower requested messages beyond the leader's last: one of them lost its end",
    "raft-index-mismatch": "the Raft log on disk did not end where it should",
}
_THEN = "compare the copies (JSD207 on a live check), and look for unclean stops and full disks before it"


@check("sequence_mismatch.divergence_logged", lines_of="servers")
def divergence_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The servers reset or resend what differs; whose messages survive is the leader's copy (jetstream_cluster.go)."""
    for signature, what in _FAULTS.items():
        for burst in bursts(logs, signature, calm=False):
            once = burst.count == 1 and signature != "replica-apply-mismatch"
            yield detailed_finding(burst, what, _THEN, Severity.WARNING if once else None)


class Loading:
    """Which servers were started just now, or say themselves that an asset is not current.

    A copy that has to catch up waits for some seconds before it begins, while its leader calls it current already
    (server: jetstream_cluster.go processSnapshot; measured on 2.12 and 2.15: five seconds).
    """

    def __init__(self, servers: Servers, groups: RaftGroups | None, settle_ns: int) -> None:
        self._servers = {server.name: server for server in servers.servers}
        self._settle_ns = settle_ns
        members = groups.last if groups else ()
        self._young_logs = {(m.server, m.group) for m in members if m.has_young_log(settle_ns)}
        self._whole_logs = {(m.server, m.group) for m in members if m.has_whole_log}
        self._empty_logs = {(m.server, m.group) for m in members if m.has_empty_log}

    def is_busy(self, name: str, asset: Stream | Consumer, has_more: bool, counts_complaints: bool = True) -> bool:
        """Whether what that server holds of the asset, more than the leader or not, may still change by itself.

        `counts_complaints`: what its health check reports counts. It complains for ever of a copy that is not current.
        """
        server = self._servers.get(name)
        if server is None:
            return False
        return (
            self._is_new(server)
            or self._is_new_copy(name, asset)
            or (has_more and self._has_joined(name, asset))
            or (counts_complaints and _complains(server, asset))
        )

    def _is_new_copy(self, name: str, asset: Stream | Consumer) -> bool:
        """Whether the copy is of a group that was made just now, or of a member that has just come to an older one.

        An asset that is scaled from one replica gets a new group. Its members copy what the leader holds, or still
        hold what they had before (measured on 2.10.26 and 2.12.8). The log of a busy stream is shortened again and
        again: its oldest entry is young as well, but not the first one. An empty log is as old as its leader's.
        """
        if asset.cluster is None:
            return False
        copy, leader = (name, asset.cluster.raft_group), (asset.answered_by, asset.cluster.raft_group)
        has_leader_young_log = leader in self._young_logs or leader in self._empty_logs
        if copy in self._empty_logs:
            return has_leader_young_log
        # A young log with the group's first entry was begun just now. Without it, it was copied just now, or shortened:
        # then the leader's is young, too.
        return copy in self._young_logs and (copy in self._whole_logs or not has_leader_young_log)

    def _has_joined(self, name: str, asset: Stream | Consumer) -> bool:
        """Whether it is a new copy of a stream that acknowledgements remove messages from.

        Consumers follow their stream to new servers, and until then nothing removes what was acknowledged there
        (measured on 2.10 after a scale to five replicas).
        """
        if not isinstance(asset, Stream) or asset.config.retention == "limits" or asset.cluster is None:
            return False
        return (name, asset.cluster.raft_group) in self._young_logs

    def _is_new(self, server: Server) -> bool:
        uptime = uptime_ns(server)
        return uptime is not None and uptime < self._settle_ns


def _complains(server: Server, asset: Stream | Consumer) -> bool:
    """Servers before 2.11 name the asset only in the text of their first error."""
    health = server.health
    if health is None:
        return False
    name = asset.stream if isinstance(asset, Consumer) else asset.name
    text = f"'{asset.account} > {name}"
    return text in health.error or any(e.account == asset.account and e.stream == name for e in health.errors)
