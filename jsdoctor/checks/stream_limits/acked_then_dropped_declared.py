"""JSD612, from manifests: a stream that will be smaller than one message may be."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.oversize import largest_payload, lets_in_too_large
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import ConnectedServer, Servers

_DEFAULT_PAYLOAD = 1 << 20
"""`max_payload` of servers that set none (server: const.go MAX_PAYLOAD_SIZE)."""


@check("stream_limits.acked_then_dropped_declared")
def acked_then_dropped_declared(
    manifests: Manifests, servers: Servers | None, connected: ConnectedServer | None, params: Params
) -> Iterator[Finding]:
    """Discard old makes room after storing: a message that does not fit at all goes the same way (server: filestore.go
    enforceBytesLimit). `max_msg_size` refuses it instead, with error 10054.
    """
    stated = max((one.get("max_payload", 0) for one in manifests.servers), default=0)
    payload = largest_payload(servers, connected) or stated or _DEFAULT_PAYLOAD
    for stream in manifests.kept_streams():
        config = stream.stored
        if config.max_bytes <= 0 or config.discard != "old" or config.sealed or config.mirror:
            continue
        if unsure := indeterminate(stream, "max_bytes", "max_msg_size"):
            yield unsure
        elif lets_in_too_large(config, payload, params.integer("overhead")):
            yield _finding(stream, payload)
        else:
            yield passed(stream.subject)


def _finding(stream: DeclaredStream, payload: int) -> Finding:
    limit = stream.stored.max_bytes
    return Finding(
        subject=stream.subject,
        severity=Severity.INFO,
        message=f"messages larger than max_bytes ({limit:,} bytes) will be acknowledged and deleted at once:"
        f" set max_msg_size to {max(limit - 1024, limit // 2):,} or less, and they are refused instead",
        measured=limit,
        threshold=payload,
        unit="bytes",
        evidence=(stream.shows("max_bytes", limit),),
        remedy=BY_HAND,
    )
