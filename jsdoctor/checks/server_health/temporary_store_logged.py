"""JSD818: a store directory that does not outlive the host or the container, by what servers log when they start."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import by_server, finding_of
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.checks.server_health.temporary import is_in_memory
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence


@check("server_health.temporary_store_logged")
def temporary_store_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The server warns only where nothing is configured; the directory that it prints tells of the rest."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = bursts(logs, "temporary-store-used", "temporary-store-named", subjects=by_server, calm=False)
    for burst in found:
        paths = [dict(line.fields).get("directory", "") for one in burst.found for line in one.exemplars]
        known = list(dict.fromkeys(path for path in paths if path))
        fallback = any(one.signature == "temporary-store-used" for one in burst.found)
        grave = fallback or any(is_in_memory(path) for path in known)
        yield finding_of(
            burst,
            f"its streams are stored in {known[-1] if known else 'a directory for temporary files'}"
            + (", because no store_dir is set" if fallback else "")
            + ": they are gone after the next restart of the host or container",
            None if grave else Severity.INFO,
        )
    if not found:
        yield passed(CLUSTER)
