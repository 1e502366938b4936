"""JSD707: a Raft group that takes in more entries than it applies, or whose log only grows.

From logs: members of Raft groups that could not apply what they had, and leaders that gave up for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from jsdoctor.checks.cluster_health.raft import Asset, assets_by_group
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding, findings_by_subject
from jsdoctor.checks.logs.log_incidents import log_incidents
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed, suspected
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.raft import META_GROUP, RaftGroups, RaftMember, RaftState
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span

_SHRINKING = 0.9

LEADER = "LEADER"


def unapplied(state: RaftState) -> int:
    """Entries that a majority has and this member has not yet applied to its stream or consumer."""
    return max(0, state.committed - state.applied)


def uncommitted(state: RaftState) -> int:
    """Entries that a leader wrote and a majority has not yet confirmed; a follower's figure means nothing."""
    return max(0, state.pindex - state.committed) if state.state == LEADER else 0


def queued(state: RaftState) -> int:
    """Entries in the longest of the group's queues inside the server."""
    return max(state.ipq_proposal_len, state.ipq_entry_len, state.ipq_resp_len, state.ipq_apply_len)


def is_quiet(state: RaftState, limits: Sequence[int]) -> bool:
    """Whether no kind of backlog reaches its limit: a quick test that nearly all of thousands of groups pass."""
    apply, queue, commit = limits
    return unapplied(state) < apply and queued(state) < queue and uncommitted(state) < commit


class Backlog(msgspec.Struct, frozen=True):
    """One kind of backlog, present in every reading. `per_s`: entries that the member applied per second meanwhile.

    None: not known, as our clock was set back between the samples.
    """

    member: RaftMember
    what: str
    path: str
    why: str
    limit: int
    count: int
    smallest: int
    per_s: float | None

    @property
    def delay_ns(self) -> int:
        """How long the member needs for it at its present pace; very long when it applies nothing."""
        return int(self.count / self.per_s * 1e9) if self.per_s else 1 << 62


_OWN_FAULT = "the disk or the processor of that server does not keep up, or the group is stuck"
_KINDS: tuple[tuple[str, str, str, Callable[[RaftState], int]], ...] = (
    ("committed entries are not applied", "committed - applied", _OWN_FAULT, unapplied),
    ("entries wait in one of its queues", "ipq_len", _OWN_FAULT, queued),
    (
        "entries are not confirmed by a majority",
        "pindex - committed",
        "its followers are slow or away, and publishers wait",
        uncommitted,
    ),
)


def backlogs(readings: Sequence[RaftMember], limits: Sequence[int]) -> Iterator[Backlog]:
    """The kinds that reach their limit in every reading and do not shrink: apply, queue, commit, as in `limits`."""
    last = readings[-1]
    for (what, path, why, measure), limit in zip(_KINDS, limits, strict=True):
        if measure(last.state) < limit:
            continue
        counts = [measure(reading.state) for reading in readings]
        if min(counts) >= limit and counts[-1] >= _SHRINKING * counts[0]:
            yield Backlog(last, what, path, why, limit, counts[-1], min(counts), _applied_per_s(readings))


def _applied_per_s(readings: Sequence[RaftMember]) -> float | None:
    """Entries applied per second, by our clock, as that of a server may be set between the samples."""
    first, last = readings[0], readings[-1]
    applied = last.state.applied - first.state.applied
    if applied <= 0:
        return 0.0
    times = (first.asked_at, last.asked_at) if first.asked_at and last.asked_at else (first.at, last.at)
    elapsed_s = (times[1] - times[0]).total_seconds()
    return applied / elapsed_s if elapsed_s > 0 else None


@check("cluster_health.raft_backlog")
def raft_backlog(groups: RaftGroups, snapshots: SnapshotSeries | None, params: Params) -> Iterator[Finding]:
    """One finding for each stream, consumer and meta group: that of its worst member (server: monitor.go Raftz)."""
    assets = assets_by_group(snapshots)
    limits = [params.integer(name) for name in ("apply_lag", "queue_length", "uncommitted")]
    worst: dict[Subject, Finding | None] = {}
    warn_log = params.integer("warn_log_bytes")
    for readings in groups.histories():
        subject, state = _owner(readings[-1], assets), readings[-1].state
        if is_quiet(state, limits) and state.wal.bytes < warn_log and not state.overrun:
            worst.setdefault(subject, None)
            continue
        judged = _judged(subject, readings, limits, params)
        known = worst.get(subject)
        if known is None or (judged is not None and _weight(judged) > _weight(known)):
            worst[subject] = judged
    for subject, finding in worst.items():
        yield finding or passed(subject)


def _judged(subject: Subject, readings: Sequence[RaftMember], limits: Sequence[int], params: Params) -> Finding | None:
    """None: healthy. A queue is emptied within milliseconds, so one reading of it proves nothing."""
    member = readings[-1]
    log = _large_log(subject, readings, params.integer("warn_log_bytes"), params.integer("max_log_bytes"))
    if member.state.overrun:
        # Since 2.14 a member past 100,000 entries or 1 GiB stops to confirm what its leader sends (server: raft.go).
        return failed(
            subject,
            f"{member.server} is overrun (group {member.group}): until it has applied what it has, it confirms"
            " nothing new and does not count for the quorum",
            member.observed("overrun", True),
            member.observed("wal.bytes", member.state.wal.bytes),
            severity=Severity.ERROR,
        )
    piled = list(backlogs(readings, limits))
    if piled and len(readings) == 1:
        return log or suspected(
            subject, f"{_message(piled[0])}, in the only reading of it", "run with --samples 2 or more"
        )
    if piled and _is_new(member, params.integer("settle")):
        return suspected(
            subject,
            f"{_message(piled[0])}; its log begins less than {span(params.integer('settle'))} ago and nothing of it was"
            " applied yet: the group was just made, by a creation or a change of replicas",
            f"run again in {span(params.integer('settle'))}",
        )
    if piled and piled[0].per_s is None:
        why = "the clock of this machine was set back between the samples, so that its pace is not known"
        return log or suspected(subject, f"{_message(piled[0])}; {why}", "run again")
    slow = [backlog for backlog in piled if backlog.delay_ns >= params.integer("max_delay")]
    return _backlog(subject, max(slow, key=lambda item: item.count), params) if slow else log


def _is_new(member: RaftMember, settle_ns: int) -> bool:
    """Whether a member has applied nothing yet and its log is younger than `settle_ns`.

    After a change of replicas new members apply nothing for ten seconds on 2.15, and then everything at once.
    """
    begun = member.state.wal.first_ts
    return member.state.applied == 0 and begun is not None and (member.at - begun).total_seconds() * 1e9 < settle_ns


def _weight(finding: Finding) -> tuple[int, float]:
    severity = finding.severity or Severity.WARNING
    size = finding.measured if isinstance(finding.measured, int) else 0
    return (severity.rank if finding.outcome == "fail" else -1, size)


def _message(backlog: Backlog) -> str:
    group = f" (group {backlog.member.group})"
    return f"on {backlog.member.server} {backlog.count:,} {backlog.what}{group}"


def _backlog(subject: Subject, backlog: Backlog, params: Params) -> Finding:
    state, large = backlog.member.state, backlog.smallest >= params.integer("max_backlog")
    catching_up = state.paused or state.catching_up
    pace = f"{span(backlog.delay_ns)} of its work" if backlog.per_s else "it applied none meanwhile"
    why = "it catches up with a snapshot and applies the rest afterwards" if catching_up else backlog.why
    return failed(
        subject,
        f"{_message(backlog)}, {pace}, and they do not get fewer: {why}",
        backlog.member.observed("committed", state.committed),
        backlog.member.observed("applied", state.applied),
        backlog.member.observed(backlog.path, backlog.count),
        severity=Severity.INFO if catching_up else Severity.ERROR if large else None,
        measured=(backlog.count, params.integer("max_backlog") if large else backlog.limit, "count"),
    )


def _large_log(subject: Subject, readings: Sequence[RaftMember], warn_at: int, error_at: int) -> Finding | None:
    """A finding if the log was large in every reading and did not shrink by a tenth; else None."""
    member, sizes = readings[-1], [reading.state.wal.bytes for reading in readings]
    if min(sizes) < warn_at or sizes[-1] < _SHRINKING * sizes[0]:
        return None
    is_error = min(sizes) >= error_at
    return failed(
        subject,
        f"on {member.server} the Raft log takes {sizes[-1]:,} bytes (group {member.group}): no snapshot has"
        " shortened it, it fills the disk besides the messages and makes the next start slow",
        member.observed("wal.bytes", sizes[-1]),
        member.observed("wal.messages", member.state.wal.messages),
        severity=Severity.ERROR if is_error else None,
        measured=(sizes[-1], error_at if is_error else warn_at, "bytes"),
    )


_LIKELY_CAUSES = (
    "its disk or processor does not keep up with what the group takes in (iostat -x, JSD811), or the group is stuck"
)
_PAUSED = "meanwhile it confirmed nothing and did not count for the quorum"


@check("cluster_health.backlog_logged", lines_of="servers")
def backlog_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Groups are only named by id, so the server is the subject (server: raft.go isCurrent, ProposeMulti)."""
    paused = log_incidents(logs, "raft-quorum-paused")
    behind = log_incidents(logs, "raft-falling-behind")
    yield from findings_by_subject(paused, "members of Raft groups paused their part in the quorum", _PAUSED)
    yield from findings_by_subject(behind, "members of Raft groups fell behind", _LIKELY_CAUSES)
    for burst in bursts(logs, "raft-leader-overrun"):
        yield detailed_finding(burst, "leaders stepped down because they could not apply fast enough", _LIKELY_CAUSES)
    for burst in bursts(logs, "raft-entries-pending"):
        most = burst.largest("pending") or 0
        severity = Severity.WARNING if most >= params.integer("max_backlog") * 10 else Severity.INFO
        yield detailed_finding(burst, f"up to {most:,} append entries were pending", _LIKELY_CAUSES, severity)


def _owner(member: RaftMember, assets: Mapping[str, Asset]) -> Subject:
    """The stream, the consumer, or the cluster for the meta group; the server where the group is not known."""
    if member.group == META_GROUP:
        return CLUSTER
    asset = assets.get(member.group)
    return asset.subject if asset else Subject(kind="server", name=member.server)
