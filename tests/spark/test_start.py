"""Spark starts on a machine without a Java of its own, and says nothing."""

from pathlib import Path

import pytest

from bench.log_archive import ArchivePlan, write_archive
from tests.cli.invoke import jsdoctor


@pytest.mark.nightly
def test_with_the_java_of_the_wheel(tmp_path: Path) -> None:
    """Spark's launcher is a shell script: PATH has a shell, and no Java."""
    write_archive(tmp_path / "logs", ArchivePlan(megabytes=1))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "env", "dirname", "ps", "nohup", "uname", "cat", "rm"):
        found = next((path for path in (Path("/bin", name), Path("/usr/bin", name)) if path.exists()), None)
        if found is not None:
            (tools / name).symlink_to(found)
    environment = {"JAVA_HOME": "/nowhere", "PATH": str(tools)}
    done = jsdoctor("audit", "--isolated", "--engine", "spark", "logs", cwd=tmp_path, env=environment, timeout=180)
    assert done.returncode in (0, 1), done.stderr
    assert "read with Spark (local[*], " in " ".join(done.stdout.split())
    assert done.stderr == ""
