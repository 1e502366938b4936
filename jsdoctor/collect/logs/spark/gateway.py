"""From a JVM that listens to a Spark context in it, and back to a pyspark that remembers neither."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jsdoctor.collect.logs.spark.jvm import JvmGateway
from jsdoctor.collect.logs.spark.session import classic_mode, keep_interrupts


def join(gateway: JvmGateway, settings: Mapping[str, str], python: str | None) -> Any:
    """A Spark context in a JVM of ours. `python` is that of the workers, None to leave it to the user."""
    from pyspark.java_gateway import launch_gateway

    given = {"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.secret}
    with variables(given):
        launched = launch_gateway()  # type: ignore[no-untyped-call]
    return context_on(launched, settings, python)


def context_on(launched: Any, settings: Mapping[str, str], python: str | None) -> Any:
    """A Spark context through a py4j gateway. Takes Ctrl-C back from pyspark, whose handler talks to the JVM first."""
    from pyspark import SparkConf, SparkContext

    quiet_py4j()
    handler = signal.getsignal(signal.SIGINT)
    try:
        with classic_mode(), variables({"PYSPARK_PYTHON": python} if python else {}):
            conf = SparkConf(_jvm=launched.jvm).setAll(list(settings.items()))
            return SparkContext(gateway=launched, conf=conf)
    finally:
        keep_interrupts(handler)


def forget() -> None:
    """Let pyspark forget a JVM that is gone, so that this process can open another session."""
    from pyspark import SparkContext

    gateway, context = SparkContext._gateway, SparkContext._active_spark_context  # noqa: SLF001 - no public way
    accumulators = getattr(context, "_accumulatorServer", None)
    if accumulators is not None:
        accumulators.handle_error = _ignore  # else it prints that the JVM has gone
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.close()


def quiet_py4j() -> None:
    """Keep py4j's tracebacks off stderr: what fails is reported once, as a `SparkProblem`.

    py4j also logs to the root logger, for instance when its thread that frees objects of the JVM is at work while the
    gateway is closed.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _ignore(*_: object) -> None:
    """Say nothing."""


@contextlib.contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """With these environment variables: the only way to tell pyspark some things."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
