"""The benchmark of manifests runs, in its smallest form; its figures are not judged."""

from __future__ import annotations

import subprocess
import sys

from tests.servers import ROOT


def test_it_measures() -> None:
    command = [sys.executable, "-m", "bench", "--only", "manifests", "--manifests", "3", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "jsdoctor check --manifest, 3 files" in done.stdout
    assert "yamllint, the same files" in done.stdout
