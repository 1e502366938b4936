"""JSD203, from logs: streams restored through the API, or deleted and created as recorded advisories tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.words import no_server_lines, when, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence, Occurrence, exemplars_of

_FAILED = ("stream-restore-failed", "stream-restore-not-activated", "stream-restore-error")


@check("sequence_mismatch.stream_recreated_logged")
def stream_recreated_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A stream can only be created after a delete when that is the same name made anew."""
    found = [*_recreated(logs)]
    failed = bursts(logs, *_FAILED, calm=False)
    found += [_restored(burst, failed=True) for burst in failed]
    said = {burst.subject for burst in failed}
    started = bursts(logs, "stream-restore-started", calm=False)
    found += [_restored(burst, failed=False) for burst in started if burst.subject not in said]
    yield from found
    if not found:
        yield passed(CLUSTER) if logs.has_server_logs else no_server_lines()


def _restored(burst: Burst, *, failed: bool) -> Finding:
    return Finding(
        subject=burst.subject,
        severity=None if failed else Severity.INFO,
        message=(
            f"a restore from a backup failed, {burst.story}: the stream may be missing or incomplete"
            if failed
            else f"a restore from a backup was {burst.story}: sequences go on where the backup ends; clients that were"
            " further expect more than there is"
        ),
        first_seen=burst.first_seen,
        last_seen=burst.last_seen,
        evidence=burst.evidence,
        remedy={} if burst.subject.kind == "stream" else {"action": "none"},
    )


def _recreated(logs: LogEvidence) -> Iterator[Finding]:
    by_stream: dict[tuple[str, str, bool], dict[str, Occurrence]] = defaultdict(dict)
    for one in logs.occurrences("advisory-stream-action"):
        by_stream[one.value("stream"), one.logged_by, one.zoned][one.value("kind")] = one
    for actions in by_stream.values():
        deleted, created = actions.get("delete"), actions.get("create")
        if deleted is None or created is None or deleted.first is None or created.last is None:
            continue
        if created.last < deleted.first:
            continue
        yield Finding(
            subject=deleted.subject,
            message=(
                f"the stream was deleted and created again{when(deleted.first, created.last)}, as advisories tell:"
                " sequences began anew, its consumers went with it, and clients that remember either get errors or"
                " nothing"
            ),
            first_seen=zoned(deleted.first),
            last_seen=zoned(created.last),
            evidence=exemplars_of((deleted, created)),
        )
