"""JSD603, from manifests: a stream that will refuse publishes by its own configuration."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import DeclaredStream, Manifests


@check("stream_limits.rejects_publishes_declared")
def rejects_publishes_declared(manifests: Manifests) -> Iterator[Finding]:
    """Discard policy new answers a publish to a full stream with error 10077 (server: filestore.go storeRawMsg).

    Where nothing ever leaves the stream, the first time that it is full is for good. Buckets are made like that.
    """
    for stream in manifests.kept_streams():
        config = stream.stored
        if not config.subjects or config.name.startswith(("KV_", "OBJ_")) or (config.discard != "new"):
            continue
        if unsure := indeterminate(stream, "discard", "max_age", "max_bytes", "max_msgs"):
            yield unsure
        elif config.sealed:
            yield _finding(stream, "sealed", "it is sealed: every publish to its subjects is refused", None)
        elif 0 < config.max_bytes < config.max_msg_size:
            says = (
                f"max_msg_size {config.max_msg_size:,} lets in what max_bytes {config.max_bytes:,} never has room for"
            )
            yield _finding(
                stream, "max_msg_size", f"{says}: such publishes are refused (error 10077)", Severity.WARNING
            )
        elif config.retention == "limits" and config.max_age_ns <= 0 and max(config.max_bytes, config.max_msgs) > 0:
            says = "once it is full every publish fails (error 10077), until somebody deletes messages: nothing expires"
            yield _finding(stream, "discard", f"{says}, and its discard policy is new", Severity.INFO)
        else:
            yield passed(stream.subject)


def _finding(stream: DeclaredStream, field: str, says: str, severity: Severity | None) -> Finding:
    return Finding(
        subject=stream.subject,
        severity=severity,
        message=says,
        evidence=(stream.at(field).shows(f"discard: {stream.stored.discard}"),),
        remedy=BY_HAND,
    )
