"""The Homebrew formula has a resource for each locked dependency, and Ruby can read it."""

import re
import shutil
import subprocess

import pytest

from jsdoctor import __version__
from tools.formula import FORMULA, formula, pins

RESOURCE = re.compile(
    r'resource "(?P<name>[^"]+)" do\n    url "(?P<url>[^"]+)"\n    sha256 "(?P<sha256>[0-9a-f]{64})"\n  end'
)


def test_resources_are_those_of_the_lock() -> None:
    resources = {match["name"]: match for match in RESOURCE.finditer(FORMULA.read_text("utf-8"))}
    locked = {pin.name: pin for pin in pins()}
    assert len(locked) > 20
    assert resources.keys() == locked.keys(), "make formula"
    for name, pin in locked.items():
        assert f"-{pin.version}.tar.gz" in resources[name]["url"], f"{name}: make formula"
        assert resources[name]["sha256"] in pin.hashes, f"{name}: no archive of the lock has this checksum"


def test_the_formula_is_what_its_resources_make() -> None:
    text = FORMULA.read_text("utf-8")
    made = formula({match["name"]: (match["url"], match["sha256"]) for match in RESOURCE.finditer(text)})
    assert text == made, "make formula"
    assert f"v{__version__}/jsdoctor-{__version__}.tar.gz" in text


def test_ruby_accepts_it() -> None:
    ruby = shutil.which("ruby")
    if ruby is None:
        pytest.skip("no ruby")
    done = subprocess.run([ruby, "-wc", str(FORMULA)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "Syntax OK"), done.stderr
