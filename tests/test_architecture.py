"""The house keeps its shape: layers, purity, documented modules, and a start that loads little."""

import ast
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "jsdoctor"
MODULES = sorted(PACKAGE.rglob("*.py"))
IMPURE = {"__init__.py", "__main__.py", "app", "cli", "demo", "remedy", "sources"}
PURE_MODULES = [module for module in MODULES if module.relative_to(PACKAGE).parts[0] not in IMPURE]

# Fields of the model that are written and never read by an attribute: figures of captures that only tests compare, and
# what is read by its name (claims of symptom pages).
UNREAD_FIELDS = {
    *("by_bytes", "delay_above_least_ns", "handshake_ns", "p95", "routed", "unfilled_bytes"),
    *("claim", "outvoted", "truth"),
}
SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}

# The clock behind datetime, and files: what import-linter cannot see because it needs no forbidden import.
IMPURE_METHODS = {
    *("now", "utcnow", "today"),
    *(
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "iterdir",
        "glob",
        "rglob",
        "exists",
        "is_file",
        "is_dir",
    ),
}
IMPURE_BUILTINS = {"open", "print", "input"}


def name(module: Path) -> str:
    return str(module.relative_to(ROOT))


@cache
def source(module: Path) -> str:
    return module.read_text(encoding="utf-8")


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(source(module))


def impurities(module: ast.Module) -> Iterator[str]:
    """Each call in *module* that reads a clock, a file or the console, as `line: call`."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        is_method = isinstance(called, ast.Attribute) and called.attr in IMPURE_METHODS
        is_builtin = isinstance(called, ast.Name) and called.id in IMPURE_BUILTINS
        if is_method or is_builtin:
            yield f"{node.lineno}: {ast.unparse(called)}()"


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sysconfig.get_path("scripts")) / "lint-imports"
    command = [str(tool), "--no-cache", "--config", str(directory / "pyproject.toml")]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_a_class_name_has_one_meaning() -> None:
    """A reader who has met a class, private or not, knows what its name means in every other module."""
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name(module))
    assert {word: modules for word, modules in places.items() if len(modules) > 1} == {}


def test_each_measure_is_read() -> None:
    """A field of the model that no check, parser or renderer reads is a dead measure; the list may only shrink."""
    fields = {
        part.target.id
        for module in MODULES
        if module.is_relative_to(PACKAGE / "model")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    nodes = [node for module in MODULES for node in ast.walk(tree(module))]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    templates = " ".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.html"))
    assert {field for field in fields - read if field not in templates} == UNREAD_FIELDS


def test_module_names_say_something() -> None:
    vague = [name(module) for module in MODULES if SAY_NOTHING & set(re.split(r"[_./]", name(module)))]
    assert not vague


def test_modules_say_what_they_are() -> None:
    docstrings = {name(module): ast.get_docstring(tree(module)) for module in MODULES}
    assert [module for module, text in docstrings.items() if not text or not text.splitlines()[0].strip()] == []


def test_imports_run_one_way() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pure_modules_read_no_clock_and_no_file() -> None:
    impure = {name(module): list(impurities(tree(module))) for module in PURE_MODULES}
    assert {module: calls for module, calls in impure.items() if calls} == {}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_start_loads_no_heavy_library(option: str) -> None:
    program = f"""
import runpy, sys
sys.argv = ["jsdoctor", {option!r}]
try:
    runpy.run_module("jsdoctor", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
heavy = {{"nats", "scapy", "ntplib", "pyspark"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
