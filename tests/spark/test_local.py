"""Spark on this machine and processes of our own come to the same evidence, byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.sources.archives.event_files import MANIFEST
from tests.spark.corpus import write_corpus
from tests.spark.reading import Reading, Task, evidence_of, read_with

SMALL_PARTS = 100_000
GONE = "other/crlf.log"


class Read:
    """What both engines made of one corpus: whole, in small parts, with a file that vanished."""

    def __init__(self, place: Path) -> None:
        self.corpus = place / "corpus"
        self.planted = write_corpus(self.corpus)
        self.events = {"local": place / "events-local", "spark": place / "events-spark"}
        self.local = self._read(place, "local")
        (self.corpus / GONE).write_bytes(self._gone)
        self.spark = self._read(place, "spark")

    def _read(self, place: Path, engine: str) -> list[bytes]:
        self._gone = (self.corpus / GONE).read_bytes()
        readings = (
            Reading(str(place / f"{engine}-1"), events=str(self.events[engine])),
            Reading(str(place / f"{engine}-2"), part_bytes=SMALL_PARTS),
            Reading(str(place / f"{engine}-3"), vanished=(str(self.corpus / GONE),)),
        )
        return read_with(Task(str(self.corpus), readings, spark=engine == "spark"))


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    return Read(tmp_path_factory.mktemp("local-spark"))


def test_engines_agree(read: Read) -> None:
    assert read.spark[0] == read.local[0]


def test_it_is_no_matter_how_files_are_cut(read: Read) -> None:
    assert read.spark[1] == read.spark[0]
    assert read.local[1] == read.local[0]


def test_something_was_found(read: Read) -> None:
    evidence = evidence_of(read.spark[0])
    assert {server.name for server in evidence.servers} >= {"n1", "n2", "n3"}
    assert len(evidence.files) == 11
    starts = [incident for incident in read.planted if incident.kind in {"start", "restart", "crash"}]
    assert len(evidence.runs) >= len(starts)


def test_a_cut_off_file_is_read_as_far_as_it_goes(read: Read) -> None:
    (cut,) = (file for file in evidence_of(read.spark[0]).files if file.path.endswith("cut.log.gz"))
    assert cut.lines > 0
    assert cut.problem


def test_a_file_that_executors_do_not_find_is_reported(read: Read) -> None:
    for result in (read.spark[2], read.local[2]):
        (gone,) = (file for file in evidence_of(result).files if file.path.endswith(GONE))
        assert gone.problem
        assert gone.skipped == gone.size > 0
    assert read.spark[2] == read.local[2]


def rows(directory: Path) -> list[dict[str, Any]]:
    from pyarrow.dataset import dataset  # noqa: PLC0415  # takes more than a second

    table = dataset(directory, partitioning="hive", format="parquet").to_table()
    unsorted_rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(unsorted_rows, key=lambda row: (row["file"], row["offset"], row["signature"]))


def test_events_are_the_same_from_both(read: Read) -> None:
    ours, theirs = rows(read.events["local"]), rows(read.events["spark"])
    assert ours == theirs
    assert {row["server"] for row in ours} >= {"n1", "n2", "n3"}


def test_the_manifest_counts_the_events(read: Read) -> None:
    for directory in read.events.values():
        manifest = json.loads((directory / MANIFEST).read_text())
        assert manifest["format"] == "jsdoctor.events/v1"
        assert manifest["events"] == len(rows(directory)) > 0
        assert manifest["files"] == len(list(directory.rglob("*.parquet")))
        assert not list(directory.glob("_unfinished*"))
