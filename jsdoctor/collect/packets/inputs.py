"""Which files `--pcap` names: captures, directories of captures, globs, named pipes and `-` for standard input."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from jsdoctor.collect.logs.codec import codec_of
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.parse.packets.capture_file import MAGIC, MAGICS

STANDARD_INPUT = Path("-")
_HEAD = 8
_HINT = "--pcap takes a capture, a directory, a glob in quotes, a named pipe, or - for standard input; repeat it"


def capture_files(named: Sequence[Path]) -> tuple[Path, ...]:
    """Every capture once, in the order named; those of a directory or a glob by name. Raises `UsageProblem`."""
    in_order: dict[Path, None] = {}
    for path in named:
        try:
            in_order.update(dict.fromkeys(_files(path)))
        except OSError as error:
            raise UsageProblem(f"cannot read {path}: {error.strerror or error}", _HINT) from error
    return tuple(in_order)


def _files(path: Path) -> list[Path]:
    if path == STANDARD_INPUT:
        return [path]
    if path.is_dir():
        inside = [candidate for candidate in sorted(path.iterdir()) if candidate.is_file() and _is_capture(candidate)]
        if not inside:
            raise UsageProblem(f"there is no capture in the directory {path}", _HINT)
        return inside
    if path.exists():
        return [path]
    matches = sorted(glob.glob(str(path))) if glob.has_magic(str(path)) else []  # noqa: PTH207 - may be absolute
    if not matches:
        raise UsageProblem(f"no such file: {path}", _HINT)
    return [Path(match) for match in matches if Path(match).is_file()]


def _is_capture(path: Path) -> bool:
    """By its first bytes; a compressed file by its name, since it may be anything inside."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return head[:4] in MAGICS or head[:4] == MAGIC or bool(codec_of(head) and "cap" in path.name.lower())
