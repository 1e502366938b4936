"""Finds the files that contain manifests: paths, globs, directories, and `-` for standard input."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from jsdoctor.collect.problems import UsageProblem

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json", ".conf", ".cfg", ".tf")
_NOT_OURS = ("node_modules", "__pycache__", "charts")
"""Directories of third-party files. `charts` holds the dependencies of a Helm chart; its values are beside it."""
_OF_CHART = ("templates", "files", "crds", "test", "tests")
_CHARTS = re.compile(r"^name:\s*[\"']?(?:nats|nack|surveyor)\b", re.MULTILINE)
"""Charts of nats-io, wherever they lie: of those only values can be the user's own."""


class ManifestPath(msgspec.Struct, frozen=True):
    """A file to read, by its path in reports. `named`: the user gave it by name or glob."""

    path: str
    named: bool


def find(paths: Sequence[str]) -> list[ManifestPath]:
    """Every file once, in the order of the command line, directories in the order of names.

    Raises `UsageProblem` for a path that is not there.
    """
    manifest_paths: dict[str, ManifestPath] = {}
    for path in paths:
        for file in _expanded(path):
            known = manifest_paths.get(file.path)
            if known is None or (file.named and not known.named):
                manifest_paths[file.path] = file
    return list(manifest_paths.values())


def _expanded(path: str) -> Iterator[ManifestPath]:
    if path == STDIN:
        yield ManifestPath(STDIN, named=True)
    elif Path(path).is_dir():
        yield from _below(path)
    elif Path(path).exists():
        yield ManifestPath(path, named=True)
    else:
        matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []  # noqa: PTH207 - a Path has no absolute globs
        if not matches:
            raise UsageProblem(
                f"--manifest {path}: there is no such file or directory",
                "name a file, a directory, a glob in quotes, or - for standard input",
            )
        for match in matches:
            yield from _below(match) if Path(match).is_dir() else (ManifestPath(match, named=True),)


def _below(directory: str) -> Iterator[ManifestPath]:
    for parent, directories, files in os.walk(directory):
        skipped = (*_NOT_OURS, *(_OF_CHART if "Chart.yaml" in files and _is_vendored(parent) else ()))
        directories[:] = sorted(name for name in directories if name not in skipped and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                yield ManifestPath(os.path.join(parent, name), named=False)  # noqa: PTH118 - a Path would drop a leading ./


def _is_vendored(directory: str) -> bool:
    try:
        return bool(_CHARTS.search((Path(directory) / "Chart.yaml").read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        return False
