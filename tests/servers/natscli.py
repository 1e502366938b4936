"""The real `nats` command, built from source by `make natscli`: what printed commands are tried on."""

import os
import shutil
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
