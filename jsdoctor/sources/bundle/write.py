"""Writing a bundle: a ZIP that appears under its name whole or not at all, for its owner's eyes only."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.bundle.container import MAX_RATIO

_LARGE_BYTES = 1 << 20
_PLACE_HINT = "choose another place with -o"


def require_place(path: Path, force: bool) -> None:
    """Raise UsageProblem if the bundle cannot be written there. Called before anything is collected."""
    if path.exists() and not path.is_file():
        raise UsageProblem(f"cannot write {path}: it is not a file", _PLACE_HINT)
    if path.exists() and not force:
        raise UsageProblem(f"{path} is there already", "choose another name with -o, or add --force to replace it")
    if not path.parent.is_dir():
        raise UsageProblem(f"cannot write {path}: there is no directory {path.parent}", _PLACE_HINT)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageProblem(f"cannot write {path}: permission denied", _PLACE_HINT)


def write_bundle(path: Path, members: Iterable[tuple[str, bytes]], force: bool = False) -> int:
    """Write the members and return the size of the file in bytes. Raises UsageProblem when that cannot be done.

    After an error or an interruption, an existing file of that name is unchanged, and no other file is left.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
        unfinished = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                _write_zip(file, members)
                file.flush()
                os.fsync(file.fileno())
            require_place(path, force)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        _sync_directory(path.parent)
        return path.stat().st_size
    except OSError as error:
        raise UsageProblem(f"cannot write {path}: {error.strerror or error}", _PLACE_HINT) from error


def _write_zip(file: object, members: Iterable[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for name, content in members:
            archive.writestr(name, content, zipfile.ZIP_STORED if _shrinks_too_much(content) else None)


def _shrinks_too_much(content: bytes) -> bool:
    """Whether readers would take the packed member for an attack: a log may repeat one line very often."""
    return len(content) > _LARGE_BYTES and len(zlib.compress(content, 1)) * (MAX_RATIO // 2) < len(content)


def _sync_directory(directory: Path) -> None:
    """Write the directory to disk, so that the new name survives a power cut."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
