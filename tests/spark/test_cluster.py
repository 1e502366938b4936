"""A real standalone cluster of two workers: they get jsdoctor from the driver, and find what one process finds."""

from pathlib import Path

import pytest

from tests.spark.corpus import write_corpus
from tests.spark.reading import Reading, Task, read_with
from tests.spark.sites import bare_python, standalone


@pytest.mark.nightly
def test_a_standalone_cluster_agrees(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    write_corpus(corpus)
    (local,) = read_with(Task(str(corpus), (Reading(str(tmp_path / "local")),), spark=False, processes=1))
    conf = {"spark.driver.host": "127.0.0.1", "spark.pyspark.python": str(bare_python(tmp_path))}
    readings = (
        Reading(str(tmp_path / "cluster"), part_bytes=300_000, events=str(tmp_path / "events")),
        Reading(str(tmp_path / "again")),
    )
    with standalone(tmp_path) as master:
        results = read_with(Task(str(corpus), readings, master=master, conf=conf))
    assert results == [local] * 2
    assert list((tmp_path / "events").rglob("*.parquet"))
