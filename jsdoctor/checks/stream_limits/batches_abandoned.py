"""JSD635: batches of messages that a stream abandoned, as a stream of advisories recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.advisories import AdvisoryKind, RecordedAdvisories
from jsdoctor.model.finding import Finding, Severity, Subject, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.stored import AdvisoryStreams, moment

_REASONS = {
    "timeout": "nothing more of them came in time",
    "incomplete": "a message of them was missing",
    "large": "they had more messages than a batch may have",
    "unsupported": "they needed what the server does not offer",
}
"""By the reason that the server gives (server: jetstream_events.go BatchAbandonReason)."""


@check("stream_limits.batches_abandoned")
def batches_abandoned(advisories: AdvisoryStreams, params: Params) -> Iterator[Finding]:
    """One finding for each stream that the batches were for."""
    for read in advisories.streams:
        by_stream: dict[str, list[RecordedAdvisories]] = defaultdict(list)
        for advisory in read.recorded(AdvisoryKind.BATCH_ABANDONED):
            by_stream[advisory.stream].append(advisory)
        for name, abandoned in by_stream.items():
            count, warn = sum(advisory.count for advisory in abandoned), params.integer("warn")
            reasons = "; ".join(
                f"{advisory.count:,}: {_REASONS.get(advisory.reason, advisory.reason)}" for advisory in abandoned
            )
            yield failed(
                Subject(kind="stream", name=name, account=read.account),
                f"the stream abandoned {count:,} {'batch' if count == 1 else 'batches'} of messages in a day, as stream"
                f" {read.stream} recorded ({reasons}): no message of them is stored",
                *(read.observed(f"{advisory.kind} {advisory.reason}", advisory.count) for advisory in abandoned),
                severity=None if count >= warn else Severity.INFO,
                measured=(count, warn, "count"),
                between=(
                    moment(min(advisory.first_ns for advisory in abandoned)),
                    moment(max(advisory.last_ns for advisory in abandoned)),
                ),
            )
        if not by_stream:
            yield passed(read.subject)
