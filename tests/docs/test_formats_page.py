"""docs/formats.md: a section for each format, and every command in it runs as it stands there."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from jsdoctor.render.formats import FORMATS
from tests.servers.binaries import ROOT

PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def test_each_format_has_a_row_in_the_table() -> None:
    table = PAGE.partition("| --- |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(FORMATS)


def test_each_family_is_documented() -> None:
    source = (ROOT / "jsdoctor" / "render" / "formats" / "prometheus.py").read_text(encoding="utf-8")
    written = set(re.findall(r'"(jsdoctor_\w+)"', source))
    assert written == set(re.findall(r"^\| `(jsdoctor_\w+)` \|", PAGE, re.MULTILINE))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command: str, tmp_path: Path) -> None:
    """Against a server that is not there: the report says so in every format, and the exit code as well."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "GITHUB_"))}
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{clean['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        env={**clean, "PATH": path, "NATS_URL": "nats://127.0.0.1:1", "XDG_CONFIG_HOME": str(tmp_path / "config")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    written = [file.read_text(encoding="utf-8") for file in tmp_path.iterdir() if file.is_file()]
    assert any("127.0.0.1:1" in text or "JSD901" in text for text in (*written, done.stdout))
