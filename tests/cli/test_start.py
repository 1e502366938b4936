"""`--version` answers at once, any command within 0.4 s of processor time, completion within 0.3 s."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import jsdoctor as package
from tests.cli.invoke import jsdoctor_alone as jsdoctor

LOADS = """
import sys
from jsdoctor.cli.app import run
run(sys.argv[1:])
heavy = ("aiohttp", "nats", "numpy", "pandas", "pyarrow", "pyspark", "scapy")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def test_version(tmp_path: Path) -> None:
    done = jsdoctor("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"jsdoctor {package.__version__}\n")


def test_no_command_is_help(tmp_path: Path) -> None:
    shown = [jsdoctor(*arguments, cwd=tmp_path) for arguments in ((), ("--help",), ("-h",))]
    assert {(done.returncode, done.stderr) for done in shown} == {(0, "")}
    assert len({done.stdout for done in shown}) == 1
    assert "Exit codes: 0 nothing at or above --fail-on" in shown[0].stdout


def test_every_command_has_help_with_its_options(tmp_path: Path) -> None:
    for command in (("check",), ("capture",), ("explain",), ("demo",), ("rules", "list"), ("rules", "validate")):
        done = jsdoctor(*command, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert "--help" in done.stdout
    assert "Examples:" in jsdoctor("check", "--help", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    "arguments", ["rules list", "explain JSD101", "check --help", "diagnose --offline --code 10071"]
)
def test_nothing_heavy_is_loaded(tmp_path: Path, arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADS, *arguments.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "limit_s"),
    [("--version", 0.1), ("rules list", 0.4), ("diagnose --offline --code 10071", 0.4), ("check --select JSD40", 0.3)],
)
def test_processor_time(tmp_path: Path, arguments: str, limit_s: float) -> None:
    """Twice the promise, the best of three: other tests run beside it. The last one is what Tab is pressed behind."""
    complete = arguments.startswith("check")
    words = {"_JSDOCTOR_COMPLETE": "complete_bash", "COMP_WORDS": f"jsdoctor {arguments}", "COMP_CWORD": "3"}
    environment = {**os.environ, **(words if complete else {})}
    command = [sys.executable, "-m", "jsdoctor", *(() if complete else arguments.split())]
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(taken) < 2 * limit_s
