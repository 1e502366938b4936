"""Runs `jsdoctor` in an empty directory, without this machine's contexts and variables."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.warm import jsdoctor_again

_OF_PYTHON = ("PYTHON", "LANG", "LC_", "TZ", "PATH")
"""How the names of variables begin that Python reads when it starts."""
_OF_SPARK = {"spark", "--remote", "--master", "--conf"}


def jsdoctor(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 60, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """The finished process, a fork of one that has imported jsdoctor. Fails the test when a traceback was shown.

    It is a process of its own from the start where a variable or an encoding is given that Python itself reads, and
    where it may start Spark.
    """
    of_python = encoding != "utf-8" or any(name.startswith(_OF_PYTHON) for name in env or ())
    if not of_python and not _OF_SPARK & set(arguments):
        return jsdoctor_warm(*arguments, cwd=cwd, env=env, timeout=timeout)
    return jsdoctor_alone(*arguments, cwd=cwd, env=env, timeout=timeout, encoding=encoding)


def checked(cwd: Path, *words: str) -> dict[str, Any]:
    """The report of a check."""
    report: dict[str, Any] = json.loads(jsdoctor("check", *words, "--format", "json", "--isolated", cwd=cwd).stdout)
    return report


def jsdoctor_alone(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 60, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """The same in a process that imports what it needs and no more."""
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
