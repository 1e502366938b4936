"""A JVM of our own for Spark's driver: started without Spark's launcher, always ended, without leftover files."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jsdoctor
from jsdoctor.collect.logs.spark.command import LOG_CONFIGURATION, class_path, environment, java_options
from jsdoctor.collect.logs.spark.java import Java
from jsdoctor.collect.logs.spark.problem import SparkProblem

_MEMORY = "1g"
_START_TIMEOUT_S = 120.0
_POLL_S = 0.02
_SAID_EVERY_TIME = (
    "Picked up ",
    "WARNING: ",
    "NOTE: ",
    "Using Spark's default",
    "Setting default log level",
    "To adjust",
)
_PACKAGE_PARENT = Path(jsdoctor.__file__).parents[1]


@dataclass(frozen=True, slots=True)
class JvmGateway:
    """The loopback address on which the JVM listens for Python, and its secret."""

    port: int
    secret: str


class Jvm:
    """One JVM with its working directory, which holds all that Spark writes on this machine."""

    def __init__(self, java: Java, spark_home: Path) -> None:
        self.work = Path(tempfile.mkdtemp(prefix="jsdoctor-spark-"))
        self._java = java
        self._spark_home = spark_home
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self, conf: Mapping[str, str], options: Sequence[str] = (), more_classes: Sequence[str] = ()
    ) -> JvmGateway:
        """Start it and wait until it listens. Raises `SparkProblem` with what it said when it does not come up.

        It leads a process group of its own: an interrupt from the terminal reaches jsdoctor, which then ends it. It
        also ends by itself when jsdoctor is gone, because its standard input closes.
        """
        (self.work / "log4j2.properties").write_text(LOG_CONFIGURATION, encoding="utf-8")
        connection_file = self.work / "connection"
        classes = [*map(str, class_path(self._spark_home)), *more_classes]
        classes += filter(None, [conf.get("spark.driver.extraClassPath")])
        given = shlex.split(conf.get("spark.driver.extraJavaOptions", ""))
        memory = conf.get("spark.driver.memory", _MEMORY)
        settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
        command = [
            str(self._java.executable),
            *java_options(self.work, memory + "m" * memory.isdigit()),
            *(*options, *given),
            *("-cp", os.pathsep.join(classes), "org.apache.spark.deploy.SparkSubmit", *settings, "pyspark-shell"),
        ]
        with (self.work / "stderr").open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                cwd=self.work,
                env=environment(os.environ, self._spark_home, connection_file, sys.executable, _PACKAGE_PARENT),
                process_group=0,
            )
        return self._await(self._process, connection_file)

    def _await(self, process: subprocess.Popen[bytes], connection_file: Path) -> JvmGateway:
        give_up = time.monotonic() + _START_TIMEOUT_S
        while process.poll() is None and time.monotonic() < give_up:
            # The JVM renames the file into place, so it is there whole or not at all.
            if connection_file.exists():
                stated = connection_file.read_bytes()
                port, length = struct.unpack(">ii", stated[:8])
                return JvmGateway(port, stated[8 : 8 + length].decode())
            time.sleep(_POLL_S)
        how = "did not come up in two minutes" if process.poll() is None else f"ended with {process.returncode}"
        raise SparkProblem(
            f"the Java of Spark {how}: {self._java.executable}: {self.complaint() or 'it said nothing'}",
            "set JAVA_HOME to another Java, or read the logs without Spark: --engine local",
        )

    def complaint(self) -> str:
        """The first line of its error output that reports a problem."""
        return complaint(self.work / "stderr")

    def finish(self, timeout_s: float) -> bool:
        """Let it end by itself, so that it can write an archive of its classes. Whether it did, well, in time."""
        if self._process is None or self._process.stdin is None:
            return False
        self._process.stdin.close()
        try:
            return self._process.wait(timeout_s) == 0
        except subprocess.TimeoutExpired:
            return False

    def end(self) -> None:
        """End it at once with all its Python workers, and remove its files, none of which are results."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if sys.platform == "win32":  # its Python workers end when they lose it
                    self._process.kill()
                else:
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
        shutil.rmtree(self.work, ignore_errors=True)


def complaint(errors: Path) -> str:
    """The first line of a file of error output that reports a problem."""
    try:
        lines = errors.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    stated = [line.strip() for line in lines if line.strip() and not line.startswith(_SAID_EVERY_TIME)]
    return stated[0] if stated else ""
