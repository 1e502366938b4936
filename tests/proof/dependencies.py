"""What a test module depends on within tests/: itself, what it imports or starts, conftest files, and their data."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.servers import ROOT

_MODULE = re.compile(r"(?:tests|tools)(\.\w+)+")


@cache
def module_digest(module: str, root: Path = ROOT) -> str:
    """Hexadecimal digest of all files of tests/ that the results of a module, given by its path there, depend on."""
    digest = hashlib.sha256()
    for path in sorted(dependencies(module, root)):
        digest.update(f"{path.relative_to(root).as_posix()} {_content(path)}\n".encode())
    return digest.hexdigest()[:12]


def dependencies(module: str, root: Path = ROOT) -> set[Path]:
    """Those files. Of a directory with a module among them all data below it counts: no import tells what is read."""
    start = root / "tests" / module
    left = [start, *(folder / "conftest.py" for folder in start.parents if folder.is_relative_to(root / "tests"))]
    modules: set[Path] = set()
    while left:
        path = left.pop()
        if path not in modules and path.is_file():
            modules.add(path)
            left += [*_imported(path, root), path.parent / "__init__.py"]
    folders = {path.parent for path in modules} - {root / "tests", root / "tools"}
    return modules.union(*(_data(folder) for folder in folders))


@cache
def _imported(path: Path, root: Path) -> tuple[Path, ...]:
    """The files of the modules of tests/ that a module imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= _started(node.value, root)
    return tuple(_files(names, root))


def _started(text: str, root: Path) -> set[str]:
    """Modules that a text names: as `python -m` takes it, or as a directory of programs that are no tests."""
    if _MODULE.fullmatch(text):
        return {text}
    folder = root / "tests" / text
    if not text.isidentifier() or not folder.is_dir() or any(folder.glob("test_*.py")):
        return set()
    return {".".join(path.relative_to(root).with_suffix("").parts) for path in folder.rglob("*.py")} | {f"tests.{text}"}


def _files(names: set[str], root: Path) -> Iterator[Path]:
    for name in sorted(names):
        if name.partition(".")[0] in {"tests", "tools"}:
            place = root.joinpath(*name.split("."))
            yield from (place.with_suffix(".py"), place / "__init__.py")


@cache
def _data(folder: Path) -> frozenset[Path]:
    """Files below a directory that are no modules of Python, without what tools leave there."""
    left_by_tools = {"__pycache__", "node_modules"}
    return frozenset(
        path
        for path in folder.rglob("*")
        if path.suffix not in {".py", ".pyc"} and path.is_file() and not left_by_tools & set(path.parts)
    )


@cache
def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
