"""Whether a rule saw all that it judges: one that found nothing in a part of it is not evaluated and never passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jsdoctor.checks.registry import Check
from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.partial import UnreadReply
from jsdoctor.model.wording import counted


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
    requested = [gap for gap in evidence.gaps_for(()) if gap.requested]
    if not requested:
        return []
    missing = [kind for kind in used if evidence.get(kind) is None]
    reporting = [
        set(servers)
        for kind in required
        if (known := evidence.get(kind)) is not None and (servers := known.servers_seen()) is not None
    ]
    return [
        gap
        for gap in requested
        if any(gap.kind in kind.left_out_by for kind in required)
        or (gap.kind == "server" and any(gap.subject.name not in servers for servers in reporting))
        or any(_took_away(gap, kind) for kind in missing)
    ]


def _took_away(gap: Gap, kind: type[Evidence]) -> bool:
    return gap.kind in kind.left_out_by or (gap.kind == "endpoint" and kind.of_deployment)


def missing_samples(evidence: EvidenceSet, rule_checks: Iterable[Check]) -> list[Gap]:
    """Why there are no two samples, if a check compares samples and there is one."""
    used = {kind for check in rule_checks if check.compares_samples for kind in check.kinds}
    return [
        evidence.why_absent(kind)
        for kind in used
        if kind.single and evidence.get(kind) is None and evidence.get(kind.single) is not None
    ]


def summarised(gaps: Sequence[Gap]) -> tuple[str, str]:
    """One reason for several gaps, and how to get what is missing."""
    first = gaps[0]
    about = "" if first.subject == CLUSTER else f"{first.subject.label}: "
    more = f", and {counted(len(gaps) - 1, 'more gap')}" if len(gaps) > 1 else ""
    return f"{about}{first.reason}{more}", first.how_to_get
