"""Error texts in the sources of the seven NATS clients, as the programs write them, for a comparison with the table.

`JSDOCTOR_CLIENT_SOURCES` names a directory with a checkout of each client, under the name of its repository.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

VARIABLE = "JSDOCTOR_CLIENT_SOURCES"
MIN_TELLING = 6
"""A shorter constant part of a text identifies nothing."""

_TEXT = r'((?:[^"\\\n]|\\.)*)'
_TESTS = re.compile(
    r"(^|/)(tests?|testing|examples?|bench|benches|sandbox|tools|scripts|internal/test|server_[a-z]+)(/|$)|_test\.|\.test\."
)
_VALUE = re.compile(r"%[-+#0-9.]*[a-zA-Z]+|%|\$\{[^}]*\}|\{[^}]*\}|\\[nrt]")


class Client(NamedTuple):
    """Where a client's sources lie, and what stands before an error text in them."""

    directories: tuple[str, ...]
    suffix: str
    patterns: tuple[str, ...]


CLIENTS = {
    "nats.c": Client(("src",), ".c", (rf'nats_setError\w*\(\s*\w+,\s*"{_TEXT}"', rf'^\s*"{_TEXT}",?\s*(?://.*)?$')),
    "nats.go": Client((".",), ".go", (rf'(?:errors\.New|fmt\.Errorf)\(\s*"{_TEXT}"', rf'message:\s*"{_TEXT}"')),
    "nats.java": Client(
        ("src/main",), ".java", (rf'new \w*(?:Exception|Error)\(\s*(?:\w+(?:\(\w*\))? \+ )?"{_TEXT}"',)
    ),
    "nats.js": Client(
        ("core/src", "jetstream/src", "kv/src", "obj/src", "services/src", "transport-node/src"),
        ".ts",
        (r"""new \w*Error\(\s*["`]((?:[^"`\\]|\\.)*)["`]""", r"""\.format\(\s*\w+,\s*["`]((?:[^"`\\]|\\.)*)["`]"""),
    ),
    "nats.net": Client(("src",), ".cs", (rf'new \w*Exception\(\s*\$?@?"{_TEXT}"',)),
    "nats.py": Client(
        ("nats/src", "nats/nats"),
        ".py",
        (
            r"""raise [\w.]+\(\s*f?["']((?:[^"'\\\n]|\\.)*)["']""",
            r"""(?:return|=) f?["'](nats: (?:[^"'\\\n]|\\.)*)["']""",
        ),
    ),
    "nats.rs": Client(
        ("async-nats/src",),
        ".rs",
        (rf'#\[error\(\s*"{_TEXT}"', rf'write!\(\s*\w+,\s*"{_TEXT}"', rf'Error::new\([^"]{{0,80}}"{_TEXT}"'),
    ),
}
"""By the name of the repository."""

_ONLY_IN = {r'^\s*"' + _TEXT + r'",?\s*(?://.*)?$': "status.c", rf'message:\s*"{_TEXT}"': "errors.go"}
"""Patterns that mean an error only in the file that lists the errors."""


def error_texts(root: Path, name: str) -> Iterator[str]:
    """Every error text of one client once, with the places of its values as the source writes them."""
    client = CLIENTS[name]
    seen: set[str] = set()
    for path in sorted(file for part in client.directories for file in (root / name / part).rglob(f"*{client.suffix}")):
        if _TESTS.search(path.relative_to(root / name).as_posix()):
            continue
        source = path.read_text("utf-8", errors="replace")
        for pattern in client.patterns:
            if path.name != _ONLY_IN.get(pattern, path.name):
                continue
            for text in re.findall(pattern, source, re.MULTILINE):
                if text not in seen and len(telling_part(text)) >= MIN_TELLING:
                    seen.add(text)
                    yield text


def telling_part(text: str) -> str:
    """The longest part that the program does not fill in, in lower case."""
    parts = _VALUE.split(text.replace('\\"', '"').replace("\\\\", "\\"))
    return max(parts, key=len).strip(" :'\"`.,()[]").casefold()
