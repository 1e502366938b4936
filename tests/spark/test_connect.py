"""A real Spark Connect server, whose workers have no jsdoctor: they are given it, and find what one process finds."""

from pathlib import Path

import pytest

from tests.spark.corpus import write_corpus
from tests.spark.reading import Reading, Task, read_with
from tests.spark.sites import bare_python, connect_server


@pytest.mark.nightly
def test_a_connect_server_agrees(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    write_corpus(corpus)
    (local,) = read_with(Task(str(corpus), (Reading(str(tmp_path / "local")),), spark=False, processes=1))
    reading = Reading(str(tmp_path / "evidence"), part_bytes=300_000)
    with connect_server(tmp_path, bare_python(tmp_path)) as remote:
        connect = read_with(Task(str(corpus), (reading,), remote=remote))
    assert connect == [local]
