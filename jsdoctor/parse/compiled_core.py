"""The compiled core (`native/`, the package jsdoctor-native), where it is installed and fits."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Generic, TypeVar, cast

_CoreT = TypeVar("_CoreT")


class CompiledCore(Generic[_CoreT]):
    """What one kind of reader uses of the core, as a protocol that lists it.

    `counter` is the attribute of the core that counts the changes of that, `revision` what this release knows how to
    use. A core of another revision is left alone: the reference, in Python, finds the same.
    """

    def __init__(self, counter: str, revision: int) -> None:
        self._counter, self._revision = counter, revision

    @cached_property
    def found(self) -> _CoreT | None:
        """The core, or None without a fitting one."""
        try:
            core = import_module("jsdoctor_native")
        except ImportError:
            return None
        return cast("_CoreT", core) if getattr(core, self._counter, None) == self._revision else None

    def required(self) -> _CoreT:
        """The core. Raises `RuntimeError` without a fitting one."""
        if self.found is None:
            raise RuntimeError("no jsdoctor-native of the revision that is needed is installed")
        return self.found
