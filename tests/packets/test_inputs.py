"""What `--pcap` takes: standard input, named pipes, directories, globs, and rings of files that are one capture."""

import gzip
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.packets.files import Ring, capture_files, read_captures
from tests.cli.invoke import jsdoctor
from tests.support.packet_cases import capture_path

SOURCE = capture_path("nats-clean.client")


def pieces(source: Path, directory: Path, count: int, name: str = "ring{}.pcap") -> list[Path]:
    """A capture cut into files at packets, as tcpdump -C does it."""
    content = gzip.decompress(source.read_bytes())
    cuts, at = [], 24
    while at < len(content):
        cuts.append(at)
        at += 16 + struct.unpack_from("<I", content, at + 8)[0]
    borders = [*(cuts[number * len(cuts) // count] for number in range(count)), len(content)]
    paths = []
    for number in range(count):
        path = directory / name.format(number)
        path.write_bytes(content[:24] + content[borders[number] : borders[number + 1]])
        paths.append(path)
    return paths


def test_files_of_a_ring_are_one_capture(tmp_path: Path) -> None:
    whole = read_captures([SOURCE])
    evidence = read_captures([*reversed(pieces(SOURCE, tmp_path, 5))])
    assert [(capture.files, capture.packets) for capture in evidence.captures] == [(5, whole.captures[0].packets)]
    assert [connection.flows for connection in evidence.connections] == [
        connection.flows for connection in whole.connections
    ]


def test_views_of_one_time_are_two_captures(tmp_path: Path) -> None:
    paths = []
    for number, side in enumerate(("client", "server")):
        path = tmp_path / f"node{number}.pcap"
        path.write_bytes(gzip.decompress(capture_path(f"nats-clean.{side}").read_bytes()))
        paths.append(path)
    evidence = read_captures(paths)
    assert len(evidence.captures) == 2
    assert len(evidence.pairs) == 2


def test_a_directory_and_a_glob(tmp_path: Path) -> None:
    paths = pieces(SOURCE, tmp_path, 3)
    (tmp_path / "notes.txt").write_text("no capture\n")
    assert capture_files([tmp_path]) == tuple(paths)
    assert capture_files([tmp_path / "ring*.pcap", paths[1]]) == tuple(paths)
    done = jsdoctor("check", "--pcap", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_directory_without_captures(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no capture\n")
    with pytest.raises(UsageProblem, match="no capture"):
        capture_files([tmp_path])


def test_what_cannot_be_read_is_reported_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(UsageProblem, match="Permission denied"):
        capture_files([tmp_path / "a.pcap"])


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(tmp_path: Path, packed: bool) -> None:
    content = SOURCE.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "jsdoctor", "check", "--pcap", "-"],
        input=content if packed else gzip.decompress(content),
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(("last_s", "joined"), [(100.5, True), (99.0, True), (70.0, True), (69.9, False), (0.0, False)])
def test_a_pause_between_files_ends_a_ring(last_s: float, joined: bool) -> None:
    """Captures of two hosts, one after the other, differ in a digit of their names as the files of a ring do."""
    ring = Ring([(Path("nats-1.pcap"), 100 * 1_000_000_000)])
    assert ring.continues(int(last_s * 1e9)) is joined
