"""JSD308: publishes that the server had already.

From packets: every acknowledgement that calls a message a duplicate.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import DUPLICATE_ACKS, sequences
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.packet_reordering.losses import network_faults
from jsdoctor.checks.packets.traffic import no_publishes, readable_publishers
from jsdoctor.checks.packets.views import View, most_severe, observed, period, views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_OTHERS = ("duplicate-id-in-process", "duplicate-dropped")


@check("dedupe_window.duplicate_acks_logged", lines_of="clients")
def duplicate_acks_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each stream that lines name, else for each application."""
    for burst in bursts(logs, *DUPLICATE_ACKS, *_OTHERS, subjects=client_of, calm=False):
        sequence_range = sequences(burst.found)
        unproven = sequence_range is not None and sequence_range[0] == 0
        often = burst.most >= params.integer("burst")
        yield finding_of(
            burst,
            f"messages were published again that were there already, {burst.story}"
            + ("; some got sequence 0 as reply, which is no proof that anything is stored" if unproven else "")
            + "; find why the first acknowledgement was late or lost, or whether an id is reused",
            None if often or unproven else Severity.INFO,
            measured=(burst.most, params.integer("burst"), "count"),
        )


_TEN_MINUTES_NS = 600_000_000_000


@check("dedupe_window.duplicate_acks_captured")
def duplicate_acks_captured(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """One finding for each stream: by the publisher with the most severe one."""
    repeating = (view for view in views(packets) if view.nats.publishing.duplicates)
    findings = list(most_severe((_finding_captured(view, params) for view in repeating), Severity.WARNING))
    yield from findings
    if not findings:
        yield from [passed(CLUSTER)] if any(readable_publishers(packets)) else no_publishes(packets)


def _finding_captured(view: View, params: Params) -> Finding:
    publishing = view.nats.publishing
    length_ns = max(view.tcp.last_ns - view.tcp.first_ns, 1)
    in_ten_minutes = round(publishing.duplicates * min(1.0, _TEN_MINUTES_NS / length_ns))
    often = in_ten_minutes >= params.integer("burst")
    single = len(publishing.duplicate_streams) == 1
    where = Subject(kind="stream", name=publishing.duplicate_streams[0]) if single else view.subject
    zero = f"; {publishing.unproven:,} with sequence 0, which is no proof that anything is stored"
    return failed(
        where,
        f"{publishing.duplicates:,} of {publishing.acks:,} acknowledgements say that the message was there already"
        f"{view.who}{zero if publishing.unproven else ''}{_cause_text(view)}",
        *observed(
            view,
            duplicate_acks=publishing.duplicates,
            with_sequence_0=publishing.unproven,
            retries_seen=publishing.retries,
            streams=", ".join(publishing.duplicate_streams),
        ),
        severity=None if often or publishing.unproven else Severity.INFO,
        measured=(in_ten_minutes, params.integer("burst"), "count"),
        between=period(view.tcp),
    )


def _cause_text(view: View) -> str:
    publishing = view.nats.publishing
    if not publishing.retries:
        return "; their first copies are not in this capture"
    incident = network_faults(view)
    return f"; {incident}" if incident else ""
