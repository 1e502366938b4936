"""Types that many threads use for the first time at once; msgspec by itself ends the process there."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from jsdoctor.model.typed import decode_plain
from tests.servers import ROOT

CROWD = '''
import sys, threading, types
from jsdoctor.model.typed import convert_to, decode_as

sys.setswitchinterval(1e-6)
SOURCE = """from __future__ import annotations
import msgspec
class Inner(msgspec.Struct, frozen=True):
    a: str = ""
    b: tuple[int, ...] | None = None
    c: dict[str, str] | None = None
class Outer(msgspec.Struct, frozen=True):
    x: tuple[Inner, ...] | None = None
    y: dict[str, Inner] | None = None
    z: Inner | None = None
"""

def use(number):
    module = types.ModuleType(f"crowd{number}")
    sys.modules[module.__name__] = module
    exec(SOURCE, module.__dict__)
    module.Inner.__module__ = module.Outer.__module__ = module.__name__
    start = threading.Barrier(4)
    def first_use(which):
        start.wait()
        if which % 2:
            found.append(decode_as(b'{"x":[{"a":"1"}]}', module.Outer).x[0].a)
        else:
            found.append(convert_to({"a": "1"}, module.Inner).a)
    threads = [threading.Thread(target=first_use, args=(which,)) for which in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

found = []
for number in range(1500): use(number)
print(len(found), set(found))
'''


def test_many_threads_meet_a_type_for_the_first_time() -> None:
    """With `msgspec.json.decode(body, type=...)` in its place, this ended with signal 11 at each of five attempts."""
    done = subprocess.run([sys.executable, "-c", CROWD], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "6000 {'1'}\n"), done.stderr[-2000:]


def test_nothing_else_decodes_declared_types() -> None:
    """Decoders that a module makes when it is imported are made by one thread."""
    direct = re.compile(
        r"msgspec\.json\.decode\([^\n]*type=(?!str\b|msgspec\.Raw)|msgspec\.convert\((?![^\n]*, datetime\))"
    )
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "jsdoctor").rglob("*.py")
        if direct.search(path.read_text("utf-8"))
    }
    assert modules == {"jsdoctor/model/typed.py"}


DECODERS = ("json.loads", "json.load", "msgspec.json.decode", "decoder.raw_decode", "_DECODER.raw_decode")
OWN_OUTPUT = {
    *("cli/mcp/server.py", "demo/faults.py", "redaction/redact.py", "logs/lines/line.py"),
    "pasted/documents.py",
}
"""What these decode is written here, is the demo's, or is one text in quotes."""


def test_json_of_others_may_be_nested_200000_deep() -> None:
    """Each decoder is `model.typed`, or is within a `try` that expects a RecursionError."""
    with pytest.raises(msgspec.DecodeError):
        decode_plain(b"[" * 200_000 + b"]" * 200_000)
    unguarded = {
        path.relative_to(ROOT / "jsdoctor").as_posix()
        for path in (ROOT / "jsdoctor").rglob("*.py")
        if any(_unguarded(ast.parse(path.read_text("utf-8"))))
    }
    assert unguarded - OWN_OUTPUT == set()


def _unguarded(module: ast.Module) -> Iterator[ast.Call]:
    guarded = {
        call
        for block in ast.walk(module)
        if isinstance(block, ast.Try)
        and any(re.search(r"RecursionError|^_[A-Z]", ast.unparse(h.type)) for h in block.handlers if h.type)
        for statement in block.body
        for call in ast.walk(statement)
    }
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in DECODERS and call not in guarded:
            yield call
