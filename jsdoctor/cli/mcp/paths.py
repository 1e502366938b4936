"""Keeps the paths of a client below the directories that the server was started with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import has_magic
from pathlib import Path

from jsdoctor.collect.problems import UsageProblem

_MAX_ENTRIES = 20_000
_HINT = "the person who starts the server names the directories with --root"


def allowed_path(given: str, roots: Sequence[Path]) -> str:
    """The real path of a path from a client. Relative paths start at the first root.

    Raises `UsageProblem` for everything outside of the roots, whether or not a file exists: a client must not learn
    that either.
    """
    refused = UsageProblem(f"{given} is not a file or directory below a directory that this server may read", _HINT)
    if not roots or not given or "\0" in given or "://" in given or has_magic(given):
        raise refused
    try:
        path = (roots[0] / given).resolve(strict=True)
    except (OSError, RuntimeError):
        raise refused from None
    if not _below(path, roots):
        raise refused
    if path.is_dir():
        _require_links_inside(path, roots)
    return str(path)


def _below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _require_links_inside(directory: Path, roots: Sequence[Path]) -> None:
    """Reading a directory follows links. Raises `UsageProblem` where one leads out of the roots."""
    entries = 0
    for parent, directories, files in os.walk(directory):
        for name in (*directories, *files):
            entries += 1
            if entries > _MAX_ENTRIES:
                raise UsageProblem(f"{directory} has more than {_MAX_ENTRIES} files", "name a smaller directory")
            path = Path(parent, name)
            if path.is_symlink() and not _below(path.resolve(), roots):
                raise UsageProblem(f"{path} is a link that leads out of the directories of this server", _HINT)
