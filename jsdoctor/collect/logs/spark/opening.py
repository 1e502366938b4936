"""Opens a Spark session for one run: embedded in this process, on a cluster, or through Spark Connect."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from jsdoctor.collect.logs.spark.cluster import open_connect, open_master
from jsdoctor.collect.logs.spark.embedded import open_embedded
from jsdoctor.collect.logs.spark.session import Spark, SparkChoice
from jsdoctor.collect.problems import UsageProblem


def require_pyspark(choice: SparkChoice) -> None:
    """Raise `UsageProblem` where the libraries that Spark needs are not installed."""
    wanted = ("pyspark", "pyarrow", "pandas", "numpy", *(("grpc",) if choice.remote else ()))
    for name in wanted:
        try:
            __import__(name)
        except ImportError:
            raise UsageProblem(
                f"reading logs with Spark needs {name}, which is not installed",
                "pip install 'jsdoctor[logs]', or read them without Spark: --engine local",
            ) from None


@contextlib.contextmanager
def open_spark(choice: SparkChoice) -> Iterator[Spark]:
    """A session, always closed at the end. Raises `SparkProblem` if none can be opened.

    With `KeyboardInterrupt` the JVM and its workers end before this returns; jobs on a cluster are cancelled.
    """
    require_pyspark(choice)
    opener = open_connect if choice.remote else open_embedded if choice.embedded else open_master
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas and pyspark, about each other
        opened: Spark | None = None
        try:
            with opener(choice) as opened:
                yield opened
        finally:
            if opened is not None:
                opened.join()
