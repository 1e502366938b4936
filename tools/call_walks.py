"""Measures a walk of docs/architecture.md: the functions on the call stacks from a command to its output.

    python -m tools.call_walks 'PROBE PROBE ...' check --pcap FILE --isolated

A probe is a regular expression for `module:function`; the call stack is taken when the next probe is called for the
first time. What runs in a task of its own has no caller on its stack. `TREE` names another checkout, such as one of an
earlier commit. Python's scan runs even if the compiled one is installed, as earlier commits have no other.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

LAYERS = {"__main__": 0, "cli": 0, "app": 1, "render": 2, "remedy": 2, "collect": 2, "demo": 2, "engine": 3}
LOWEST = 4
"""The layer of `checks` and `parse`; those of `model` are never a way back."""
Stack = list[str]


class Probes:
    """A profiler that takes the call stacks. `stacks` has one for each probe that was called, in their order."""

    def __init__(self, package: str, probes: Sequence[str]) -> None:
        self._package, self._probes = package, [re.compile(probe) for probe in probes]
        self.stacks: list[Stack] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """For `sys.setprofile`."""
        missing = self._probes[len(self.stacks) :]
        if event == "call" and missing and (name := self._name(frame)) and missing[0].search(name):
            self.stacks.append(self._stack(frame))

    def _name(self, frame: FrameType) -> str:
        file = frame.f_code.co_filename
        if not file.startswith(self._package):
            return ""
        module = file.removeprefix(self._package).removesuffix(".py").replace("/", ".")
        return f"{module}:{frame.f_code.co_qualname.replace('.<locals>', '')}"

    def _stack(self, frame: FrameType | None) -> Stack:
        names = []
        while frame is not None:
            if (name := self._name(frame)) and not name.endswith(">"):  # comprehensions, lambdas, modules
                names.append(name)
            frame = frame.f_back
        return names[::-1]


def figures(stacks: Sequence[Stack]) -> tuple[int, int, int]:
    """Functions, modules and climbs of the walk that goes from stack to stack."""
    functions = dict.fromkeys(name for stack in stacks for name in stack)
    return len(functions), len({name.partition(":")[0] for name in functions}), sum(map(_climbs, pairwise(stacks)))


def _climbs(between: tuple[Stack, Stack]) -> bool:
    """Whether the walk returns to a higher layer between two stacks."""
    before, after = between
    shared = next((place for place, names in enumerate(zip(before, after, strict=False)) if len(set(names)) > 1), 0)
    return 0 < shared < len(before) and _layer(after[shared - 1]) < _layer(before[-1])


def _layer(name: str) -> int:
    return LAYERS.get(re.split(r"[.:]", name)[0], LOWEST)


def main(probes: str, arguments: Sequence[str]) -> None:
    """Run the command and print the figures and the stacks."""
    tree = Path(os.environ.get("TREE", Path(__file__).resolve().parents[1]))
    sys.path.insert(0, str(tree))
    sys.modules["jsdoctor_native"] = None  # type: ignore[assignment]
    sys.argv = ["jsdoctor", *arguments]
    profiler = Probes(f"{tree}/jsdoctor/", probes.split())
    entry = import_module("jsdoctor.__main__")
    threading.setprofile(profiler)
    sys.setprofile(profiler)
    try:
        entry.main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        text = "{} functions, {} modules, {} climbs\n".format(*figures(profiler.stacks))
        sys.stderr.write(text + "".join(f"  {' > '.join(stack)}\n" for stack in profiler.stacks))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
