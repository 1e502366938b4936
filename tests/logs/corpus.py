"""Signatures, real logs and ways to read them, for the tests of the log audit."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from jsdoctor.logs.aggregate.aggregation import aggregate
from jsdoctor.logs.aggregate.evidence import assemble
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.scan.part import BLOCK
from jsdoctor.model.log import LogEvidence, canonical
from jsdoctor.model.log_scan import Row, ScanSettings
from jsdoctor.model.rule import LineOrigin, Signature
from jsdoctor.sources.archives.discover import discover
from jsdoctor.sources.archives.part import Scanner
from jsdoctor.sources.archives.split import PART_BYTES, split

REAL = Path(__file__).resolve().parents[2] / "fixtures" / "logs"
"""Logs of real servers, by version."""

STREAM = r"'(.+?) > (.+?)'"

SIGNATURES = (
    Signature(
        name="t-stream-quorum-lost",
        contains="has NO quorum, stalled",
        pattern=rf"JetStream cluster stream {STREAM} has NO quorum, stalled",
        fields=("account", "stream"),
        levels=("WRN",),
        resolved_by=("@stream-leader",),
    ),
    Signature(
        name="t-no-meta-leader",
        contains="JetStream cluster no metadata leader",
        pattern=r"JetStream cluster no metadata leader",
        resolved_by=("@meta-leader", "@meta-self"),
    ),
    Signature(
        name="t-route-dial",
        contains="Error trying to connect to route",
        pattern=r"Error trying to connect to route \(attempt (\d+)\): (.+)",
        fields=("attempt", "reason"),
        levels=("ERR",),
    ),
    Signature(
        name="t-healthcheck", contains="Healthcheck failed: ", pattern=r"Healthcheck failed: (.*)", fields=("reason",)
    ),
    Signature(
        name="t-snapshot",
        contains="Metalayer blocking snapshot took",
        pattern=r"Metalayer blocking snapshot took ([0-9.]+s)",
        fields=("took",),
    ),
    Signature(
        name="t-client-error",
        contains="nats: ",
        pattern=r"(nats: [a-z ]+)",
        fields=("reason",),
        source=LineOrigin.CLIENT,
    ),
)
SETTINGS = ScanSettings(signatures=SIGNATURES)


def evidence(
    inputs: Iterable[Path | str],
    *,
    size: int = PART_BYTES,
    native: bool | None = None,
    block: int = BLOCK,
    zones: Sequence[tuple[str, str]] = (),
    servers: Sequence[tuple[str, str]] = (),
    settings: ScanSettings = SETTINGS,
    matcher: Matcher | None = None,
) -> LogEvidence:
    """Read logs in this process, cut and searched as the test wants it: by default as jsdoctor does it here.

    `matcher`: one that was built of these settings before; `native` False: the scan in Python.
    """
    scanner = Scanner(matcher or Matcher(settings.signatures), block=block, native=native)
    rows: list[Row] = []
    for part in split(discover([str(path) for path in inputs], zones, servers).files, size):
        rows.extend(scanner.rows(part))
    return assemble(settings, aggregate(sorted(rows)))


def same(evidence: LogEvidence, other: LogEvidence) -> bool:
    """Whether two readings agree, byte for byte."""
    return canonical(evidence) == canonical(other)


def counts_of(read: LogEvidence) -> dict[tuple[str, str, tuple[tuple[str, str], ...]], int]:
    """How many lines of each signature, server and subject."""
    return {
        (occurrence.signature, occurrence.logged_by, occurrence.fields): occurrence.count for occurrence in read.found
    }


def docker(line: bytes) -> bytes:
    """As docker's json-file driver stores a line (it escapes as Go's encoding/json does)."""
    text = json.dumps(line.decode(errors="replace") + "\n", ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'{{"log":{text},"stream":"stderr","time":"2026-11-21T09:23:30.349612345Z"}}'.encode()


WRAPPINGS: dict[str, Callable[[bytes], bytes]] = {
    "docker": docker,
    "cri": lambda line: b"2026-11-21T09:23:30.349612345Z stderr F " + line,
    "kubectl": lambda line: b"[pod/nats-0/nats] 2026-11-21T09:23:30.349612345Z " + line,
    "kubectl-short": lambda line: b"[nats-0/nats] " + line,
    "stern": lambda line: b"nats-0 nats " + line,
    "compose": lambda line: b"nats-0   | " + line,
    "syslog-3164": lambda line: b"Nov 21 09:23:30 nats-0 nats-server[123]: " + line,
    "syslog-3164-pri": lambda line: b"<30>Nov 21 09:23:30 nats-0 nats-server[123]: " + line,
    "syslog-5424": lambda line: b"<30>1 2026-11-21T09:23:30.349568Z nats-0 nats-server 123 - - " + line,
    "journal": lambda line: json.dumps(
        {"__REALTIME_TIMESTAMP": "1795253010349568", "_HOSTNAME": "nats-0", "MESSAGE": line.decode(errors="replace")}
    ).encode(),
    "editor": lambda line: b"Line 12: " + line,
    "tabbed": lambda line: b"2026-11-21T09:23:30.349612345Z\t" + line,
    "interrupted": lambda line: b"^C" + line,
    "zone-name": lambda line: b"11:23:30.349 CET" + line,
}
