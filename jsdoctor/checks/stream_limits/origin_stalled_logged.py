"""JSD607: mirrors and sources whose origin refused them, or whose messages they could not store."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_WHAT = {
    "mirror-setup-refused": "a mirror cannot begin to copy",
    "source-setup-refused": "it cannot begin to copy from a source",
    "mirror-setup-unreadable": "a mirror got an answer that it does not understand",
    "source-setup-unreadable": "a source gave an answer that is not understood",
    "mirror-message-refused": "it could not store a message of its origin",
    "source-message-refused": "it could not store a message of a source",
    "source-recreated": "its source was deleted and made anew: it copies from its beginning",
}
_AT_WORK = ("mirror-message-refused", "source-message-refused", "source-recreated")
_SETTING_UP = tuple(name for name in _WHAT if name not in _AT_WORK)
"""While a server starts, origins cannot be reached yet."""

_REPEATED_ID = "msgid is duplicate"


@check("stream_limits.origin_stalled_logged")
def origin_stalled_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A stream that cannot store one message of its origin stops there (stream.go processInboundMirrorMsg)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = [*bursts(logs, *_AT_WORK, calm=False), *bursts(logs, *_SETTING_UP)]
    for burst in found:
        yield finding_of(burst, _words(burst), _severity(logs, burst))
    if not found:
        yield passed(CLUSTER)


def _severity(logs: LogEvidence, burst: Burst) -> Severity | None:
    signatures = {one.signature for one in burst.found}
    if signatures == {"source-recreated"}:
        return Severity.INFO
    return None if is_recent(logs, burst) else Severity.WARNING


def _words(burst: Burst) -> str:
    what = "; ".join(dict.fromkeys(_WHAT[one.signature] for one in burst.found))
    reasons = burst.values("reason")
    stuck = (
        ". A message with an id that it has already seen stops the copying before 2.12.8, and its lag reads 0 meanwhile"
        if _REPEATED_ID in reasons
        else ""
    )
    return f"{what}{f' ({reasons})' if reasons else ''}: {burst.story}{stuck}"
