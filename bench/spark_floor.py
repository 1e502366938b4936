"""An empty job in the Spark that `jsdoctor audit` embeds: what Spark takes on a machine before a line is read.

    python -m bench.spark_floor TASKS

It has as many tasks as an audit, and the shuffle between scanning and aggregating, with one chunk of nothing for each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from jsdoctor.collect.logs.spark.opening import open_spark
from jsdoctor.collect.logs.spark.session import SparkChoice

_Chunk = tuple[int, bytes]


def _scan(numbers: Iterable[int]) -> Iterator[_Chunk]:
    for number in numbers:
        yield number, b""


def _chunks(chunks: Iterable[_Chunk]) -> Iterator[bytes]:
    for _, chunk in chunks:
        yield chunk


def main(tasks: int) -> None:
    """Run it once, in this process."""
    with open_spark(SparkChoice()) as spark:
        partitions = spark.cores or 1

        def collect() -> list[bytes]:
            numbers = spark.context.parallelize(range(tasks), tasks)
            chunks = numbers.mapPartitions(_scan).partitionBy(partitions, lambda number: number % partitions)
            lines: list[bytes] = chunks.mapPartitions(_chunks).collect()
            return lines

        if len(spark.in_thread(collect)) != tasks:
            raise SystemExit("not every task ran")


if __name__ == "__main__":
    main(int(sys.argv[1]))
