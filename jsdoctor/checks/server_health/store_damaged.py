"""JSD804: stored messages, settings and states that servers could not read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import subject_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject
from jsdoctor.model.log import LogEvidence

_LOSSES = {
    "store-block-missing": "a block of messages is missing, and with it its messages",
    "store-record-corrupt": "a record in a block of messages is damaged: all behind it in that block is dropped",
    "store-block-unreadable": "a block of messages cannot be read",
    "store-check-failed": "its check found damaged messages",
    "store-not-found": "a file of its store is missing while the server runs",
    "store-key-unreadable": "it cannot be decrypted: the key is another one, or damaged",
    "stream-metafile-damaged": "its settings are damaged: the stream was not loaded",
    "stream-metafile-missing": "its settings are missing: the stream was not loaded",
    "stream-checksum-missing": "the checksum of its settings is missing: the stream was not loaded",
    "stream-metafile-invalid": "its settings make no sense: the stream was not loaded",
    "stream-metafile-unreadable": "its settings cannot be read: the stream was not loaded",
    "stream-metafile-undecryptable": "the settings of a stream cannot be decrypted: it was not loaded",
    "stream-key-invalid": "the key of a stream is damaged: it was not loaded",
    "stream-recreation-failed": "the stream could not be brought back",
    "consumer-recreation-failed": "the consumer could not be brought back",
    "consumer-recreation-failed-unnamed-stream": "a consumer could not be brought back",
    "consumer-metafile-missing": "the settings of the consumer are missing: it was not loaded",
    "consumer-metafile-invalid": "the settings of the consumer are damaged: it was not loaded",
    "consumer-metafile-undecryptable": "the settings of a consumer cannot be decrypted: it was not loaded",
    "stream-store-undecryptable": "its files cannot be decrypted, for another key or damage: it was not created",
    "consumer-store-undecryptable": "its files cannot be decrypted, for another key or damage: it was not created",
    "consumer-message-unreadable": "messages for the consumer cannot be read",
    "catchup-message-unreadable": "a message that another replica needs cannot be read",
    "batch-not-restored": "a batch that was half written could not be restored",
}
_REPAIRED = {
    "stream-orphaned": "the meta group does not know the stream, so this server deletes its copy: right if it was"
    " deleted while the server was away, else its messages are lost here",
    "consumer-orphaned": "the meta group does not know the consumer, so this server deletes it: right if it was deleted"
    " while the server was away",
    "raft-snapshot-damaged": "the snapshot of a raft group is damaged",
    "raft-log-truncated": "the log of a raft group is damaged and was cut; the leader sends what is missing",
    "raft-log-entry-unreadable": "entries in the log of a raft group cannot be read",
    "raft-entry-unreadable": "an entry in the log of a raft group cannot be read",
}
_INDEX = ("store-index-damaged", "store-index-unreadable", "store-totals-differ", "store-cache-inconsistent")
_REBUILT = "its index did not fit its messages and was rebuilt from them"


def _owner(fields: Mapping[str, str], logged_by: str) -> Subject:
    """The subject of a line: the stream or consumer, or the server for the store of a Raft group."""
    store = fields.get("store", "")
    if not store or fields.get("stream"):
        return subject_of(fields, logged_by)
    group = store.startswith(("S-R", "C-R")) or store == "_meta_"
    return Subject(kind="server", name=logged_by) if group else Subject(kind="stream", name=store)


@check("server_health.store_damaged_logged", lines_of="servers")
def store_damaged_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report damage, the most severe kind for each subject. Lines of starts count, as most damage is found then."""
    severe: set[Subject] = set()
    for signatures, severity in ((tuple(_LOSSES), None), (tuple(_REPAIRED), Severity.WARNING), (_INDEX, Severity.INFO)):
        log_bursts = [b for b in bursts(logs, *signatures, subjects=_owner, calm=False) if b.subject not in severe]
        severe.update(burst.subject for burst in log_bursts)
        for burst in log_bursts:
            words = ((_LOSSES | _REPAIRED).get(occurrence.signature, _REBUILT) for occurrence in burst.found)
            yield finding_of(burst, f"{'; '.join(dict.fromkeys(words))}: {burst.story}", severity)
