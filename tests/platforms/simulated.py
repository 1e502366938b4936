"""Runs `jsdoctor` as on another platform; `simulation/sitecustomize.py` says what it lacks there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.invoke import jsdoctor
from tests.servers import ROOT

_HERE = Path(__file__).parent / "simulation"


def environment(platform: str) -> dict[str, str]:
    """Variables with which Python simulates a platform. Standard output of Windows has no Unicode when it is piped."""
    simulated = {"JSDOCTOR_SIMULATED_PLATFORM": platform, "PYTHONWARNDEFAULTENCODING": "1"}
    simulated["PYTHONPATH"] = f"{_HERE}:{ROOT}"
    return simulated | ({"PYTHONIOENCODING": "cp1252"} if platform == "windows" else {})


def run_on(platform: str, *arguments: str, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """The finished command. Fails the test where it showed a traceback or an internal error."""
    there = environment(platform)
    encoding = there.get("PYTHONIOENCODING", "utf-8")
    done = jsdoctor(*arguments, cwd=cwd, env=there, timeout=timeout, encoding=encoding)
    assert done.returncode != 4, done.stderr
    assert "internal error" not in done.stderr, done.stderr
    return done
