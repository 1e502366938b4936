"""With the lowest versions that pyproject.toml allows, jsdoctor starts and every kind of command works."""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.servers import ROOT, ClusterFactory

pytestmark = [pytest.mark.nightly, pytest.mark.real]
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("--version",),
    ("check", "--help"),
    ("rules", "validate"),
    ("explain", "JSD403"),
    ("config", "show"),
    ("diagnose", "nats: wrong last sequence: 5123"),
    ("check", "--color", "always"),
    ("check", "-o", "report.html", "-o", "report.sarif"),
    ("capture", "-o", "saved.zip"),
    ("fix",),
)
LIVE = frozenset({"check", "capture", "fix", "diagnose"})


def lowest() -> list[str]:
    """The dependencies of jsdoctor without extras, each at its lowest version."""
    declared: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    pinned = [re.sub(r">=([\d.]+).*", r"==\1", text) for text in declared]
    assert all("==" in pin for pin in pinned), pinned
    return pinned


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed `jsdoctor`, from this tree."""
    environment = tmp_path_factory.mktemp("lowest")
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *lowest(), "hatchling", "editables"], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], check=True)
    return environment / "bin" / "jsdoctor"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_works(
    command: tuple[str, ...], program: Path, shared_cluster: ClusterFactory, tmp_path: Path
) -> None:
    where: tuple[str, ...] = ()
    if command[0] in LIVE and "--help" not in command:
        where = ("--isolated", "--samples", "1", "--server", shared_cluster(nodes=1).url())
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "PYTHON"))}
    done = subprocess.run(
        [program, *command, *where], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
    )
    undecided = 3 if command[0] == "diagnose" else 0  # the causes that only logs decide
    assert done.returncode == undecided, done.stderr
    assert done.stderr.count("Traceback") == 0
