"""Types that many threads use for the first time at once; msgspec by itself ends the process there."""

from __future__ import annotations

import re
import subprocess
import sys

import msgspec
import pytest

from jsdoctor.model.typed import convert_to, decode_as
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


class Reply(msgspec.Struct):
    count: int = 0


def test_many_threads_meet_a_type_for_the_first_time() -> None:
    """With `msgspec.json.decode(body, type=...)` in its place, this ended with signal 11 at each of five attempts."""
    done = subprocess.run([sys.executable, "-c", CROWD], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "6000 {'1'}\n"), done.stderr[-2000:]


def test_json_and_values_become_the_type() -> None:
    assert decode_as(b'{"count": 3}', Reply) == convert_to({"count": 3}, Reply) == Reply(3)
    assert decode_as(b'{"count": "3"}', Reply, strict=False) == Reply(3)
    with pytest.raises(msgspec.ValidationError):
        decode_as(b'{"count": "3"}', Reply)
    with pytest.raises(msgspec.ValidationError):
        convert_to({"count": "3"}, Reply)


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
