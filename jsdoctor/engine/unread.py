"""Whether a rule saw all that it judges: one that found nothing in a part of it is not evaluated and never passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from jsdoctor.checks.registry import Check
from jsdoctor.model.ack_times import AckTimes
from jsdoctor.model.clock import Clocks
from jsdoctor.model.connections import Connections
from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.evidence_kinds import BY_KIND
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.links import Links
from jsdoctor.model.partial import UnreadReply
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.server_trend import ServerTrend
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.topology import Topology
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted

_OF_ASSETS = frozenset({"stream", "consumer", "account", "access", "assets", "reply"})
_LEFT_OUT_BY: Mapping[type[Evidence], frozenset[str]] = {
    SnapshotSeries: _OF_ASSETS,
    Trend: _OF_ASSETS,
    Accounts: _OF_ASSETS,
    StoredMessages: frozenset({"scan"}),
    AckTimes: frozenset({"metrics"}),
    Topology: frozenset({"endpoint"}),
}
"""The kinds of gaps that leave a part of this evidence unread."""
_REPEATED: Mapping[type[Evidence], type[Evidence]] = {SnapshotSeries: Trend, Servers: ServerTrend}
"""What only two samples show, by what one sample shows."""


def gaps_of_replies(replies: Iterable[UnreadReply]) -> list[Gap]:
    """A gap for each unread reply that a check needed."""
    return [
        Gap(subject.kind, subject, f"{name} was not read", how_to_get)
        for subject, name, how_to_get in dict.fromkeys(replies)
    ]


def unread_gaps(evidence: EvidenceSet, able: Iterable[Check], own: Iterable[Check]) -> list[Gap]:
    """The requested gaps in evidence that a rule requires, and in what it would have used and that is missing whole.

    `own` are the checks of the rule, `able` those with their evidence.
    """
    required = {kind for check in able for kind in (check.required or check.optional).values()}
    used = {kind for check in own for kind in check.kinds}
    gaps = evidence.get(Gaps)
    requested = [gap for gap in gaps.gaps if gap.requested] if isinstance(gaps, Gaps) else []
    if not requested:
        return []
    missing = [kind for kind in used if evidence.get(kind) is None]
    reporting = {
        kind: set(_reporting(value))
        for kind in required
        if _is_of_servers(kind) and (value := evidence.get(kind)) is not None
    }
    return [
        gap
        for gap in requested
        if any(gap.kind in _LEFT_OUT_BY.get(kind, ()) for kind in required)
        or (gap.kind == "server" and any(gap.subject.name not in servers for servers in reporting.values()))
        or any(_took_away(gap, kind) for kind in missing)
    ]


def _is_of_servers(kind: type[Evidence]) -> bool:
    """Whether a server that does not respond leaves a part of it unread: logs, manifests and packets have their own."""
    return kind is Clocks or (kind in BY_KIND and BY_KIND[kind].of_deployment)


def _took_away(gap: Gap, kind: type[Evidence]) -> bool:
    return gap.kind in _LEFT_OUT_BY.get(kind, ()) or (gap.kind == "endpoint" and BY_KIND[kind].of_deployment)


def missing_samples(evidence: EvidenceSet, rule_checks: Iterable[Check]) -> list[Gap]:
    """Why there are no two samples, if a check compares samples and there is one."""
    used = {kind for check in rule_checks if check.compares_samples for kind in check.kinds}
    return [
        evidence.why_absent(repeated)
        for single, repeated in _REPEATED.items()
        if repeated in used and evidence.get(repeated) is None and evidence.get(single) is not None
    ]


def summarised(gaps: Sequence[Gap]) -> tuple[str, str]:
    """One reason for several gaps, and how to get what is missing."""
    first = gaps[0]
    about = "" if first.subject == CLUSTER else f"{first.subject.label}: "
    more = f", and {counted(len(gaps) - 1, 'more gap')}" if len(gaps) > 1 else ""
    return f"{about}{first.reason}{more}", first.how_to_get


def _reporting(value: Evidence) -> Iterator[str]:
    """The names of the servers of which this has a report; none of streams, which may lie on any server."""
    match value:
        case Servers():
            yield from (server.name for server in value.servers)
        case ServerTrend():
            yield from (server.last.name for server in value.servers)
        case Links() | Connections():
            yield from (server.server for server in value.servers)
        case Clocks():
            yield from (clock.name for clock in value.servers)
        case RaftGroups():
            yield from (member.server for member in value.last)
