"""Files as they come: compressed, packed, rotated, torn, cut short, not logs at all. Nothing is lost silently."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard

from jsdoctor.logs.scan.rows import PART, PartRow
from jsdoctor.logs.scan.rows import read as decoded
from jsdoctor.model.log import LogEvidence, LogFile
from jsdoctor.sources.archives.discover import discover, series_of
from jsdoctor.sources.archives.part import scan_part
from tests.logs.corpus import REAL, SETTINGS, counts_of, evidence

LOG = (REAL / "2.15.1" / "c2-n1.log").read_bytes()
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LogEvidence:
    file = tmp_path_factory.mktemp("plain") / "n1.log"
    file.write_bytes(LOG)
    return evidence([file])


def read_one(path: Path) -> tuple[LogEvidence, LogFile]:
    read = evidence([path])
    assert len(read.files) == 1
    return read, read.files[0]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", ["n1.log.1", "n1.log", "n1.log.gz.1"])
def test_compression_is_known_by_its_bytes(codec: str, name: str, tmp_path: Path, plain: LogEvidence) -> None:
    file = tmp_path / name
    file.write_bytes(CODECS[codec](LOG))
    read, row = read_one(file)
    assert (row.codec, row.read, row.lines, row.problem) == (codec, len(LOG), LOG.count(b"\n"), "")
    assert counts_of(read) == counts_of(plain)
    assert [run.end for run in read.runs] == [run.end for run in plain.runs]


@pytest.mark.parametrize("codec", CODECS)
def test_several_members_are_one_text(codec: str, tmp_path: Path, plain: LogEvidence) -> None:
    half = LOG.index(b"\n", len(LOG) // 2) + 7
    file = tmp_path / "n1.log"
    file.write_bytes(CODECS[codec](LOG[:half]) + CODECS[codec](LOG[half:]))
    read, row = read_one(file)
    assert (row.read, row.problem) == (len(LOG), "")
    assert counts_of(read) == counts_of(plain)


@pytest.mark.parametrize("codec", CODECS)
def test_cut_short_is_reported(codec: str, tmp_path: Path) -> None:
    packed = CODECS[codec](LOG * 20)
    file = tmp_path / "n1.log"
    file.write_bytes(packed[: len(packed) * 2 // 3])
    _, row = read_one(file)
    assert row.problem
    assert row.skipped > 0
    assert row.read < len(LOG) * 20
    if codec == "gzip":
        assert row.read > 0


@pytest.mark.parametrize("codec", ["gzip", "zstd", "bzip2"])
def test_damage_is_reported(codec: str, tmp_path: Path) -> None:
    packed = bytearray(CODECS[codec](os.urandom(3000) + LOG * 5))
    packed[len(packed) // 2 : len(packed) // 2 + 64] = bytes(64)
    file = tmp_path / "n1.log"
    file.write_bytes(CODECS[codec](LOG) + bytes(packed))
    _, row = read_one(file)
    assert row.problem
    assert row.read >= len(LOG)


def test_something_behind_the_compressed_data_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(gzip.compress(LOG) + LOG)
    _, row = read_one(file)
    assert "something else" in row.problem
    file.write_bytes(gzip.compress(LOG) + bytes(1024))
    assert read_one(file)[1].problem == ""


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_archives(mode: str, tmp_path: Path, plain: LogEvidence) -> None:
    file = tmp_path / "all.tar"
    members = {"logs/n1.log": LOG, "logs/n2.log.gz": gzip.compress(LOG.replace(b"n1", b"n2")), "logs/x.bin": b"\x7fELF"}
    with tarfile.open(file, mode) as archive:  # type: ignore[call-overload]  # three literal modes
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_795_253_010
            archive.addfile(info, io.BytesIO(data))
    read = evidence([file])
    by_name = {row.path.rpartition("/")[2]: row for row in read.files}
    assert set(by_name) == {"n1.log", "n2.log.gz", "x.bin"}
    assert by_name["x.bin"].problem == "this is a program"
    assert by_name["n2.log.gz"].read == len(LOG)
    assert {server.name for server in read.servers} == {"n1", "n2"}
    assert read.total("t-route-dial") == 2 * plain.total("t-route-dial")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 3])
    assert any(row.problem for row in evidence([file]).files)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04" + bytes(100), "the archive is damaged"),
        (b"\xd4\xc3\xb2\xa1" + bytes(100), "--pcap"),
        (os.urandom(2048), "not text"),
    ],
)
def test_what_is_no_log_is_reported(data: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(data)
    _, row = read_one(file)
    assert reason in row.problem
    assert (row.skipped, row.read, row.named) == (len(data), 0, True)


def test_what_is_not_there_is_reported(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    read = evidence([tmp_path / "none.log", tmp_path / "empty", f"{tmp_path}/*.gz"])
    assert len(read.files) == 3
    assert all(row.problem and row.named for row in read.files)
    os.mkfifo(tmp_path / "pipe")
    assert evidence([tmp_path / "pipe"]).files[0].problem == "this is not a regular file"


ODD: dict[str, Callable[[bytes], bytes]] = {
    "crlf": lambda log: log.replace(b"\n", b"\r\n"),
    "torn": lambda log: log.rstrip(b"\n"),
    "nulls": lambda log: log.replace(b"\n", b"\n\x00\x00\x00", 50).rstrip(b"\x00"),
    "interrupted": lambda log: log.replace(b"\n[", b"\n^C[", 30),
    "bom": lambda log: b"\xef\xbb\xbf" + log,
    "colour": lambda log: log.replace(b"[INF]", b"[\x1b[32mINF\x1b[0m]").replace(b"[ERR]", b"[\x1b[31mERR\x1b[0m]"),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_bytes_change_nothing(odd: str, tmp_path: Path, plain: LogEvidence) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(ODD[odd](LOG))
    read, row = read_one(file)
    assert counts_of(read) == counts_of(plain)
    assert row.torn == (odd == "torn")
    assert [(run.server, run.started, run.end) for run in read.runs] == [
        (run.server, run.started, run.end) for run in plain.runs
    ]
    assert read.clock_steps == plain.clock_steps == ()


def test_invalid_utf8_is_kept_as_evidence(tmp_path: Path) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(
        b"[1] 2026/11/21 09:00:00.000000 [WRN] JetStream cluster stream 'A\xff > S' has NO quorum, stalled\n"
    )
    read, _ = read_one(file)
    assert read.found[0].value("account") == "A\N{REPLACEMENT CHARACTER}"
    assert "\N{REPLACEMENT CHARACTER}" in read.found[0].exemplars[0].text


def test_one_line_of_100_mb_in_bounded_memory(tmp_path: Path) -> None:
    file = tmp_path / "n1.log"
    with file.open("wb") as stream:
        stream.write(LOG + b"[1] 2026/11/21 23:00:00.000000 [TRC] ")
        for _ in range(100):
            stream.write(b"has NO quorum, stalled x" * 43_690)
        stream.write(b"\n[1] 2026/11/21 23:00:01.000000 [INF] JetStream cluster no metadata leader\n")
    code = (
        "import resource, sys\nfrom tests.logs.corpus import evidence\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"read = evidence([{str(file)!r}])\n"
        "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "print(read.files[0].long_lines, read.files[0].lines, read.total('t-no-meta-leader'), grown)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    long_lines, lines, leaderless, grown = map(int, done.stdout.split())
    assert (long_lines, lines, leaderless) == (1, LOG.count(b"\n") + 2, evidence_total() + 1)
    assert grown < 80_000 * (1 if sys.platform == "linux" else 1024)


def evidence_total() -> int:
    return evidence([REAL / "2.15.1" / "c2-n1.log"]).total("t-no-meta-leader")


@pytest.mark.parametrize(
    "name",
    [
        "nats.log",
        "nats.log.2026.11.21.04.50.23.579731281",
        "nats.log.1",
        "nats.log.1.gz",
        "nats.log.2.zst",
        "nats.log-20261121",
        "nats.log-20261121.gz",
    ],
)
def test_rotations_are_one_series(name: str) -> None:
    assert series_of(f"n1/{name}") == "n1/nats.log"


def test_rotated_files_are_read_in_order_of_time(tmp_path: Path, plain: LogEvidence) -> None:
    cut = LOG.index(b"[27483]") + 2000
    cut = LOG.index(b"\n", cut) + 1
    (tmp_path / "nats.log.2026.11.21.04.50.23.579731281").write_bytes(LOG[:cut])
    (tmp_path / "nats.log").write_bytes(LOG[cut:])
    read = evidence([tmp_path])
    assert [(run.server, run.started, run.last, run.end) for run in read.runs] == [
        (run.server, run.started, run.last, run.end) for run in plain.runs
    ]
    assert {row.servers for row in read.files} == {("n1",)}


def test_concatenation_with_headers(tmp_path: Path) -> None:
    parts = [(REAL / "2.15.1" / f"c2-n{n}.log").read_bytes() for n in (1, 2, 3)]
    text = b"".join(
        b"==> n%d.log <==\n" % n + part.replace(b"Name:     n", b"Nime:     n") for n, part in enumerate(parts, 1)
    )
    (tmp_path / "all.log").write_bytes(text)
    read = evidence([tmp_path])
    assert [server.name for server in read.servers] == ["n1", "n2", "n3"]
    assert {server.known_from for server in read.servers} == {"prefix"}
    assert read.clock_steps == ()
    apart = evidence([REAL / "2.15.1" / f"c2-n{n}.log" for n in (1, 2, 3)])
    assert counts_of(read) == counts_of(apart)
    assert len(read.runs) == len(apart.runs)


def test_interleaved_servers_are_distinguished_by_their_banners(tmp_path: Path) -> None:
    lines = [
        (line[8:34], n, line)
        for n in (1, 2, 3)
        for line in (REAL / "2.15.1" / f"c2-n{n}.log").read_bytes().splitlines(keepends=True)
    ]
    (tmp_path / "all.log").write_bytes(b"".join(line for *_, line in sorted(lines)))
    read = evidence([tmp_path])
    apart = evidence([REAL / "2.15.1" / f"c2-n{n}.log" for n in (1, 2, 3)])
    assert counts_of(read) == counts_of(apart)
    assert read.clock_steps == ()
    assert [(run.server, run.started, run.end) for run in read.runs] == [
        (run.server, run.started, run.end) for run in apart.runs
    ]


def test_interleaved_containers_are_not_taken_for_clock_steps(tmp_path: Path) -> None:
    lines = []
    for n in (1, 2):
        for second in range(600):
            stamp = b"2026/11/21 09:%02d:%02d.000000" % (second // 60, second % 60)
            lines.append((second // 2 if n == 1 else second, b"[1] " + stamp + b" [INF] line\n"))
    (tmp_path / "merged.log").write_bytes(b"".join(line for _, line in sorted(lines, key=lambda pair: pair[0])))
    read, row = read_one(tmp_path / "merged.log")
    assert row.interleaved
    assert read.clock_steps == ()


def test_names_and_zones_that_the_user_gives(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LOG)
    read = evidence([tmp_path], zones=[("*.log", "Europe/Berlin")], servers=[("a*", "given")])
    assert [(server.name, server.known_from) for server in read.servers] == [("given", "given")]
    start = read.runs[0].started
    assert start is not None
    assert start.zoned
    assert str(start) == "2026-11-21 08:23:30Z"
    assert str(evidence([tmp_path]).runs[0].started) == "2026-11-21 09:23:30 (local time)"


def test_every_part_reports_that_its_file_vanished(tmp_path: Path) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(LOG)
    (part,) = discover([str(file)]).files
    file.write_bytes(LOG[:100])
    rows = [decoded(PartRow, row.value) for row in scan_part(SETTINGS, part) if row.analysis == PART]
    assert "shorter" in rows[0].problem
    file.unlink()
    rows = [decoded(PartRow, row.value) for row in scan_part(SETTINGS, part) if row.analysis == PART]
    assert rows[0].problem == "No such file or directory"
    assert msgspec.structs.asdict(rows[0])["skipped"] == len(LOG)


def test_a_file_that_links_lead_to_is_read_once(tmp_path: Path) -> None:
    """As on a node of Kubernetes: /var/log/containers has links to the files of /var/log/pods."""
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "0.log").write_bytes(LOG)
    (tmp_path / "containers").mkdir()
    (tmp_path / "containers" / "nats-0.log").symlink_to("../pods/0.log")
    assert [part.name for part in discover([str(tmp_path)]).files] == ["pods/0.log"]


def test_an_archive_with_a_log_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_bytes(LOG)
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "n1.log", "n1.log")
    assert read_one(tmp_path / "logs.tar.gz")[1].path.endswith("logs.tar.gz!n1.log")
    with tarfile.open(tmp_path / "empty.tar", "w"):
        pass
    assert read_one(tmp_path / "empty.tar")[1].path.endswith("empty.tar")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_directory_that_may_not_be_read_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_bytes(LOG)
    (tmp_path / "private").mkdir(mode=0)
    parts = discover([str(tmp_path)]).files
    (tmp_path / "private").chmod(0o700)
    assert [(part.name, part.problem) for part in parts] == [("n1.log", ""), ("private", "Permission denied")]
