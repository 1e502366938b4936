"""Spark inside this process: `local[*]`, with a JVM that jsdoctor starts and ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsdoctor.collect.logs.spark.archive import archive_for, make_in_background
from jsdoctor.collect.logs.spark.gateway import forget, join
from jsdoctor.collect.logs.spark.java import find_java
from jsdoctor.collect.logs.spark.jvm import Jvm
from jsdoctor.collect.logs.spark.problem import SparkProblem
from jsdoctor.collect.logs.spark.session import Spark, SparkChoice


def spark_home() -> Path:
    """Where the installed pyspark has its jars."""
    import pyspark

    return Path(pyspark.__file__).parent


@contextlib.contextmanager
def open_embedded(choice: SparkChoice) -> Iterator[Spark]:
    """Start a JVM and a Spark context. An archive of its classes is made in the background where there is none yet."""
    java, home = find_java(os.environ), spark_home()
    archive = archive_for(java, home)
    jvm = Jvm(java, home)
    try:
        sharing = archive.options()
        context = start_context(jvm, choice.master or "local[*]", choice.conf, sharing)
        cores = context.defaultParallelism
        yield Spark(f"embedded, {cores} {'core' if cores == 1 else 'cores'}", cores, context, work=jvm.work)
        if not sharing:
            make_in_background(archive)
    finally:
        forget()
        jvm.end()


def start_context(jvm: Jvm, master: str, conf: Mapping[str, str], options: Sequence[str]) -> Any:
    """A Spark context in a JVM of ours. Raises `SparkProblem` when either does not come up."""
    settings = _settings(jvm.work, master) | dict(conf)
    gateway = jvm.start(settings, options)
    try:
        return join(gateway, settings, sys.executable)
    except Exception as error:
        raise SparkProblem(
            f"Spark did not start: {jvm.complaint() or error}", "see --conf, or read the logs without Spark"
        ) from error


def _settings(work: Path, master: str) -> dict[str, str]:
    return {
        "spark.master": master,
        "spark.app.name": "jsdoctor",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(work),
        "spark.log.level": "ERROR",
    }
