"""Selects the engine that reads logs; the report contains the reason."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec

import msgspec

from jsdoctor.model.problems import UsageProblem
from jsdoctor.render.wording import quantity
from jsdoctor.sources.archives.spark.choice import SparkChoice

SPARK_FROM_BYTES = 2 * 1024**3
"""Text from which logs are read with Spark. A policy, not a break-even: on one machine the same work in
processes of our own is faster at any size that was measured."""


class Engine(StrEnum):
    """An engine that reads logs."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


class EngineChoice(msgspec.Struct, frozen=True):
    """The engine of one run and the reason for it; empty for logs that are read as most are, on this machine."""

    spark: bool
    why: str


def choose_engine(asked: Engine, spark: SparkChoice, text: int) -> EngineChoice:
    """`text` is the estimated size of all text in bytes. Raises `UsageProblem` for options that exclude each other."""
    option = f"--master {spark.master}" if spark.master else f"--remote {spark.remote}" if spark.remote else ""
    if spark.master and spark.remote:
        raise UsageProblem("--master and --remote name two clusters", "leave one of them away")
    if asked is Engine.LOCAL:
        if option or spark.conf:
            raise UsageProblem(
                f"--engine local uses no Spark: {option or '--conf'} cannot be given with it", "leave one of them away"
            )
        return EngineChoice(spark=False, why="--engine local")
    if asked is Engine.SPARK or option:
        return EngineChoice(spark=True, why=option or "--engine spark")
    size, limit = quantity(text, "bytes"), quantity(SPARK_FROM_BYTES, "bytes")
    if text < SPARK_FROM_BYTES:
        return EngineChoice(spark=False, why="")
    if find_spec("pyspark") is None:
        return EngineChoice(spark=False, why=f"about {size} of text, and Spark is not installed")
    return EngineChoice(spark=True, why=f"about {size} of text, {limit} or more")
