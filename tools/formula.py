"""Writes deploy/homebrew/jsdoctor.rb from the lock: python -m tools.formula (or: make formula).

Homebrew builds every dependency from its source archive, whose address and checksum uv gives for the locked versions.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from packaging.markers import Marker

from jsdoctor import __version__
from tests.servers.binaries import ROOT

FORMULA = ROOT / "deploy" / "homebrew" / "jsdoctor.rb"
LOCK = ROOT / "requirements" / "run.txt"
_PINNED = re.compile(
    r"(?m)^(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: ; (?P<marker>.+?))? \\$(?P<hashes>(?:\n    --hash.+)+)"
)
_PLATFORMS = [
    {"sys_platform": name, "platform_system": system, "python_version": "3.13", "python_full_version": "3.13.0"}
    for name, system in (("darwin", "Darwin"), ("linux", "Linux"))
]
_HEAD = """\
# Made from requirements/run.txt by `make formula`. The release workflow fills in the repository and the checksum.
class Jsdoctor < Formula
  include Language::Python::Virtualenv

  desc "Diagnose NATS JetStream, with one rule for each documented cause"
  homepage "https://github.com/OWNER/jsdoctor"
  url "https://github.com/OWNER/jsdoctor/releases/download/v{version}/jsdoctor-{version}.tar.gz"
  sha256 "{unknown}"
  license "MIT"

  depends_on "pybind11" => :build
  depends_on "libsodium"
  depends_on "libyaml"
  depends_on "python@3.13"
  depends_on "re2"

  uses_from_macos "libffi"
"""
_TAIL = """
  def install
    ENV["SODIUM_INSTALL"] = "system"
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"jsdoctor", shell_parameter_format: :typer)
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/jsdoctor --version")
    (testpath/"n1.log").write <<~LOG
      [7] 2026/11/21 10:04:00.000000 [INF] Server is ready
      [7] 2026/11/21 10:05:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled
    LOG
    assert_match "JSD702", shell_output("#{bin}/jsdoctor check --isolated --logs n1.log", 1)
  end
end
"""


class Pin(msgspec.Struct, frozen=True):
    """A line of the lock."""

    name: str
    version: str
    hashes: frozenset[str]


def pins() -> Iterator[Pin]:
    """What is installed on macOS or Linux."""
    for match in _PINNED.finditer(LOCK.read_text("utf-8")):
        marker = Marker(match["marker"]) if match["marker"] else None
        if marker is None or any(marker.evaluate(platform) for platform in _PLATFORMS):
            yield Pin(match["name"], match["version"], frozenset(re.findall(r"sha256:([0-9a-f]{64})", match["hashes"])))


def formula(sources: dict[str, tuple[str, str]]) -> str:
    """The text. `sources`: address and checksum of the source archive of each package."""
    parts = [_HEAD.format(version=__version__, unknown="0" * 64)]
    for pin in pins():
        url, checksum = sources[pin.name]
        parts.append(f'  resource "{pin.name}" do\n    url "{url}"\n    sha256 "{checksum}"\n  end\n')
    return "\n".join(parts) + _TAIL


def sources(lock: Path) -> dict[str, tuple[str, str]]:
    """Of a lock in the format of PEP 751."""
    packages = tomllib.loads(lock.read_text("utf-8"))["packages"]
    return {
        package["name"]: (package["sdist"]["url"], package["sdist"]["hashes"]["sha256"])
        for package in packages
        if "sdist" in package
    }


if __name__ == "__main__":
    FORMULA.parent.mkdir(exist_ok=True)
    FORMULA.write_text(formula(sources(Path(sys.argv[1]))), "utf-8")
