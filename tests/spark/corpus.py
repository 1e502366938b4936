"""A small archive of logs with everything in it that engines could see differently."""

import bz2
import gzip
import json
from pathlib import Path

import zstandard

from bench.log_archive import ArchivePlan, Incident, write_archive
from jsdoctor.model.rule import Signature

SIGNATURES = (
    Signature(
        name="quorum",
        contains="has NO quorum, stalled",
        pattern="JetStream cluster (stream|consumer) '(.+?) > (.+?)' has NO quorum, stalled",
        fields=("kind", "account", "stream"),
        resolved_by=("leader",),
    ),
    Signature(
        name="leader",
        contains="new stream leader for",
        pattern="new stream leader for '(.+?) > (.+?)'",
        fields=("account", "stream"),
    ),
    Signature(
        name="failed-login",
        contains="authentication error",
        pattern='authentication error - User "(.+?)"',
        fields=("user",),
    ),
    Signature(
        name="not-stored",
        contains="failed to store a msg",
        pattern="failed to store a msg on stream '(.+?) > (.+?)': (.+)",
        fields=("account", "stream", "reason"),
    ),
    Signature(
        name="behind",
        contains="Falling behind in health check",
        pattern=r"RAFT \[(\S+) - (\S+)\] Falling behind in health check, commit (\d+)",
        fields=("peer", "group", "commit"),
    ),
)
"""Of the rules of the day these tests want nothing to know."""


def write_corpus(directory: Path) -> list[Incident]:
    """Three servers and two days, plain and packed; a cut-off gzip file; bytes that are no text; other line ends."""
    planted = write_archive(directory, ArchivePlan(megabytes=3))
    day = {server: sorted((directory / server).glob("*.log")) for server in ("n1", "n2", "n3")}
    _pack(day["n2"][1], ".gz", gzip.compress(day["n2"][1].read_bytes(), mtime=0))
    _pack(day["n3"][0], ".zst", zstandard.compress(day["n3"][0].read_bytes()))
    _pack(day["n3"][1], ".bz2", bz2.compress(day["n3"][1].read_bytes()))
    lines = day["n1"][0].read_bytes().splitlines()[:400]
    other = directory / "other"
    other.mkdir()
    packed = gzip.compress(day["n1"][1].read_bytes(), mtime=0)
    (other / "cut.log.gz").write_bytes(packed[: len(packed) // 2])
    (other / "crlf.log").write_bytes(b"\r\n".join(lines))
    (other / "empty.log").write_bytes(b"")
    (other / "latin.log").write_bytes(
        b"\n".join([*lines[:50], "[7] 2026/11/14 01:00:00.000001 [ERR] caf\xe9 \x00".encode("latin-1")])
    )
    docker = [{"log": line.decode() + "\n", "stream": "stderr", "time": "2026-11-14T00:00:00.1Z"} for line in lines]
    (other / "docker-json.log").write_text("".join(json.dumps(entry) + "\n" for entry in docker), encoding="utf-8")
    return planted


def _pack(path: Path, suffix: str, content: bytes) -> None:
    path.with_name(path.name + suffix).write_bytes(content)
    path.unlink()
