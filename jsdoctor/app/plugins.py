"""Checks of other packages, which they name as entry points of the group `jsdoctor.checks`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from jsdoctor.collect.problems import UsageProblem

_GROUP = "jsdoctor.checks"


def load_plugins() -> None:
    """Import them all. Raises `UsageProblem` for one that cannot be imported."""
    if not _may_be_there():
        return
    from importlib.metadata import entry_points  # a twelfth of the time of a small run, where it is loaded

    for entry in entry_points(group=_GROUP):
        try:
            entry.load()
        except Exception as error:  # a plug-in may fail in any way
            message = f"the plug-in {entry.name!r} ({entry.value}) cannot be loaded: {error}"
            raise UsageProblem(message, "repair or uninstall it") from error


def _may_be_there() -> bool:
    """Whether an installed package names the group. What is no directory, such as a zip file, may have one."""
    return any(_names_the_group(place or os.curdir) for place in dict.fromkeys(sys.path))


def _names_the_group(place: str) -> bool:
    try:
        with os.scandir(place) as entries:
            return any(map(_in_file, _of_packages(entries)))
    except NotADirectoryError:
        return True
    except OSError:  # the path of Python names directories that are not there
        return False


def _of_packages(entries: Iterator[os.DirEntry[str]]) -> Iterator[str]:
    for entry in entries:
        if entry.name.endswith(".dist-info") or ".egg" in entry.name:
            yield entry.path


def _in_file(package: str) -> bool:
    if package.endswith((".egg", ".egg-link")):  # old forms of packages, which importlib.metadata knows how to read
        return True
    try:
        with open(f"{package}/entry_points.txt", "rb") as file:  # noqa: PTH123  # pathlib takes longer than to read it
            return _GROUP.encode() in file.read()
    except OSError:
        return False
