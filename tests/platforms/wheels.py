"""What is on the package index for other platforms than this one: by pip, which resolves without installing."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution, requires

TAGS: dict[str, tuple[str, ...]] = {
    "Linux x86-64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "Linux arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "macOS arm64": ("macosx_14_0_arm64",),
    "macOS x86-64": ("macosx_14_0_x86_64",),
    "Windows x86-64": ("win_amd64",),
}
"""The tags of wheels that pip takes on each platform."""
EXTRAS = frozenset({"nkeys", "logs", "manifests", "demo", "websocket", "connect"})
"""Extras that are followed: of jsdoctor, nats-py and pyspark. Not `pcap`, whose scapy is a wheel of pure Python."""
SOURCE_ONLY = frozenset({"nkeys", "pyspark"})
"""Pure Python, published as source archives without wheels: pip builds them anywhere, without a compiler."""
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<condition>[^;]*)(;(?P<marker>.*))?")


def pins() -> list[str]:
    """Each dependency of jsdoctor with its extras, as `name==version` of what is installed here."""
    versions: dict[str, str] = {}
    waiting = ["jsdoctor"]
    while waiting:
        for name in _required(waiting.pop()):
            if name not in versions:
                try:
                    versions[name] = distribution(name).version
                except PackageNotFoundError:  # of another platform
                    continue
                waiting.append(name)
    return sorted(f"{name}=={version}" for name, version in versions.items())


def _required(name: str) -> Iterator[str]:
    for text in requires(name) or ():
        requirement = _REQUIREMENT.match(text)
        if requirement is None:
            raise AssertionError(f"{name} requires {text!r}, which is not understood")
        extras = set(re.findall(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement["marker"] or ""))
        if not extras or extras & EXTRAS:
            yield re.sub(r"[-_.]+", "-", requirement["name"]).lower()


def without_wheel(platform: str, python: str, wanted: Sequence[str]) -> str:
    """The first of the pins of which the index has no wheel for a platform and a Python such as `3.14`; else empty.

    Raises RuntimeError where pip cannot find out.
    """
    error = _resolve(platform, python, wanted)
    named = re.search(r"No matching distribution found for (\S+)", error)
    if error and named is None:
        raise RuntimeError(f"pip cannot resolve: {error}")
    return named[1] if named else ""


def _resolve(platform: str, python: str, wanted: Sequence[str]) -> str:
    """What pip says against it; empty where each has a wheel."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet"]
    command += ["--only-binary", ":all:", "--target", "nowhere", "--python-version", python, "--report", "-"]
    for tag in TAGS[platform]:
        command += ["--platform", tag]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr
    installed = {item["metadata"]["name"] for item in json.loads(done.stdout)["install"]}
    return "" if len(installed) == len(wanted) else "it resolved something else"
