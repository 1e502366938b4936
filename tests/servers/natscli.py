"""The real `nats` command, built from source by `make natscli`: what printed commands are tried on."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers.binaries import ROOT

BINARY = ROOT / ".cache" / "bin" / "nats"


def require_nats_cli() -> Path:
    """Path of the built command. Without it the test is skipped, or fails where CI is set."""
    if BINARY.exists():
        return BINARY
    how = "run `make natscli`" if shutil.which("go") else "it is built with Go, which is not on PATH"
    reason = f"the nats command is not at {BINARY.relative_to(ROOT)}: {how}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def run_printed(nats_cli: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A printed command as a person runs it: in a shell, with the password of the test's users where it names one."""
    user = re.search(r"--user (\w+)", command)
    known = {"PATH": f"{nats_cli.parent}{os.pathsep}{os.environ['PATH']}", "XDG_CONFIG_HOME": "/nonexistent"}
    return subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, **known, **({"NATS_PASSWORD": user[1]} if user else {}), **environment},
        capture_output=True,
        text=True,
        errors="replace",  # `nats stream get` prints messages as they are
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def typed(nats_cli: Path, command: str, url: str) -> None:
    """Run a printed command as a user would."""
    done = run_printed(nats_cli, command, NATS_URL=url)
    assert done.returncode == 0, done.stderr
