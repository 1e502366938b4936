"""JSD619: a stream that stores the replies of its own account, because its subjects match the inboxes of clients.

From manifests: the same of declared streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.subjects import subject_contains

_INBOXES = ("_INBOX.client", "_INBOX.client.request")
"""The form of clients' reply subjects: a subject for one reply, and one token more if a client shares a
subscription between its requests. The tokens behind the first one are random.
"""


@check("stream_limits.stores_replies")
def stores_replies(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Compare subjects with the inboxes of clients. Streams without subjects are not judged."""
    for stream in snapshots.last.led_streams():
        if not stream.config.subjects:
            continue
        fault = _fault(stream.config)
        if fault is None:
            yield passed(stream.subject)
            continue
        yield failed(
            stream.subject,
            fault.text,
            stream.observed("config.subjects", list(stream.config.subjects)),
            stream.observed("config.no_ack", stream.config.no_ack),
            severity=fault.severity,
        )


@check("stream_limits.stores_replies_declared")
def stores_replies_declared(manifests: Manifests) -> Iterator[Finding]:
    """Compare declared subjects with the inboxes of clients."""
    for stream in manifests.kept_streams():
        if not stream.stored.subjects and "subjects" not in stream.unknown:
            continue
        fault = _fault(stream.stored)
        if unsure := indeterminate(stream, "subjects", "no_ack"):
            yield unsure
        elif fault is None:
            yield passed(stream.subject)
        else:
            shown = stream.shows("subjects", list(stream.stored.subjects))
            yield failed(stream.subject, fault.text, shown, severity=fault.severity)


class _InboxFault(NamedTuple):
    severity: Severity
    text: str


def _fault(config: StreamConfig) -> _InboxFault | None:
    """The fault of subjects that match inboxes; None if they match none.

    With `no_ack` it is an info: a stream that records everything on purpose has it.
    """
    wide = [subject for subject in config.subjects if any(subject_contains(subject, inbox) for inbox in _INBOXES)]
    if not wide:
        return None
    severity = Severity.INFO if config.no_ack else Severity.WARNING
    return _InboxFault(
        severity,
        f"its subject {wide[0]!r} matches the inboxes of clients (_INBOX.…), so it stores each reply in its account: "
        "those of the JetStream API, publish acknowledgements and replies of services",
    )
