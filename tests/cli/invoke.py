"""Runs `jsdoctor` in a process of its own, in an empty directory, without this machine's contexts and variables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.warm import jsdoctor_again


def jsdoctor(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 60, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """The finished process. Fails the test when a traceback was shown."""
    done = subprocess.run(
        [sys.executable, "-m", "jsdoctor", *arguments],
        cwd=cwd,
        env=_environment(cwd, env),
        capture_output=True,
        encoding=encoding,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def jsdoctor_warm(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """The same in a fork of a process that has imported jsdoctor."""
    done = jsdoctor_again(arguments, timeout, cwd, _environment(cwd, env))
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _environment(cwd: Path, env: Mapping[str, str] | None) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "NO_COLOR", "FORCE_"))}
    return {**clean, "XDG_CONFIG_HOME": str(cwd / "config"), **(env or {})}
