"""What an audit of logs is measured beside: programs that read or count, and do nothing else with what they find."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
PYTHON = _ROOT / ".cache/bench/bin/python"
"""Where DuckDB and Polars live, so that the development environment stays free of them; see README.md."""

_HEADER = r"^(?:\[\d+\] )?\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[[A-Z]{3}\] "
_CLOSING_BRACKET = re.compile(r"\[\^([^\[\]\\]*)\\\]\]")
_DUCKDB = """
import duckdb, sys
pattern = "|".join(f"(?:{line})" for line in open(sys.argv[1]).read().splitlines())
lines = "read_csv(?, columns={'line': 'VARCHAR'}, delim='\\x01', quote='', escape='', header=false, auto_detect=false,"
lines += " ignore_errors=true)"
count = f"SELECT count(*) FROM {lines} WHERE regexp_matches(line, ?)"
print(duckdb.execute(count, [sys.argv[2:], pattern]).fetchone())
"""
_POLARS = """
import polars, sys
pattern = "|".join(f"(?:{line})" for line in open(sys.argv[1]).read().splitlines())
lines = polars.scan_csv(sys.argv[2:], separator="\x01", quote_char=None, has_header=False, new_columns=["line"],
                        encoding="utf8-lossy", ignore_errors=True)
print(lines.select(polars.col("line").str.contains(pattern).sum()).collect(engine="streaming"))
"""


def of_whole_lines(patterns: Iterable[str]) -> str:
    """Patterns of messages as patterns of lines, one to a line: a message begins behind the server's header.

    Given as they are, those that begin with `^` would match nothing, and a peer would count a fifth of the lines.
    """
    given = list(patterns)
    begins = "|".join(f"(?:{pattern[1:]})" for pattern in given if pattern.startswith("^"))
    return "".join(
        f"{pattern}\n"
        for pattern in (f"{_HEADER}(?:{begins})", *(expression for expression in given if expression[0] != "^"))
    )


def files(archive: Path) -> list[Path]:
    """The logs of an archive."""
    return sorted(archive.rglob("*.log"))


def zstd(archive: Path) -> list[str | Path]:
    """Unpack all logs, which are packed elsewhere when they are first asked for."""
    aside = archive.with_name(f"{archive.name}-packed")
    packed = [aside / f"{file.parent.name}-{file.name}.zst" for file in files(archive)]
    for file, target in zip(files(archive), packed, strict=True):
        if not target.exists():
            aside.mkdir(exist_ok=True)
            subprocess.run(["zstd", "-q", "-3", file, "-o", target], check=True)
    return ["zstd", "-dqc", *packed]


def rg(archive: Path, patterns: Path) -> list[str | Path]:
    """Count lines that match any pattern, on two cores."""
    return ["rg", "--no-config", "-c", "-j2", "-f", patterns, *files(archive)]


def grep(archive: Path, patterns: Path) -> list[str | Path]:
    """The same with the grep that every machine has, on one core. It knows no lazy quantifiers: `.+?` is `.+` to it."""
    own = patterns.with_suffix(".grep")
    text = patterns.read_text(encoding="utf-8")
    for theirs, ours in (("+?", "+"), ("*?", "*"), ("(?:", "("), ("\\d", "[0-9]")):
        text = text.replace(theirs, ours)
    text = _CLOSING_BRACKET.sub(r"[^]\1]", text)  # which comes first inside of brackets, and unescaped
    own.write_text(text, encoding="utf-8")
    return ["grep", "-c", "-E", "-f", own, *files(archive)]


def duckdb(archive: Path, patterns: Path) -> list[str | Path]:
    """The same as one query."""
    return [PYTHON, "-c", _DUCKDB, patterns, *files(archive)]


def polars(archive: Path, patterns: Path) -> list[str | Path]:
    """The same as one lazy frame."""
    return [PYTHON, "-c", _POLARS, patterns, *files(archive)]


def no_program(name: str) -> str:
    """Why a program cannot be measured; empty when it can."""
    return "" if shutil.which(name) else f"no {name} on this machine"


def no_module(name: str) -> str:
    """The same of a module in the peers' own environment."""
    importing = PYTHON.exists() and subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False)
    return "" if importing and not importing.returncode else f"{name} is not installed in .cache/bench"
