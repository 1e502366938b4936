"""The compiled core (`native/`, the package jsdoctor-native), where it is installed and fits."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Generic, TypeVar, cast

REVISION = 6
"""Counts the changes of what the core takes and gives; the one of `src/python.rs` has to be the same."""

_CoreT = TypeVar("_CoreT")


class CompiledCore(Generic[_CoreT]):
    """What one kind of reader uses of the core, as a protocol that lists it.

    A core of another revision is left alone: the reference, in Python, finds the same.
    """

    @cached_property
    def found(self) -> _CoreT | None:
        """The core, or None without a fitting one."""
        try:
            core = import_module("jsdoctor_native")
        except ImportError:
            return None
        return cast("_CoreT", core) if getattr(core, "REVISION", None) == REVISION else None

    def required(self) -> _CoreT:
        """The core. Raises `RuntimeError` without a fitting one."""
        if self.found is None:
            raise RuntimeError("no jsdoctor-native of the revision that is needed is installed")
        return self.found
