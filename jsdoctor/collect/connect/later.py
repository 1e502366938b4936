"""Packages that are loaded when something of them is used, for libraries that import more than most runs need.

`importlib.util.LazyLoader` does not do: with it, the import statement of the library loads the package already.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands for a package that has not been loaded, and then passes on what it has."""

    def __getattr__(self, attribute: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), attribute)


def import_later(name: str) -> None:
    """Make imports of that package load nothing yet. One that is loaded, or is not installed, stays so."""
    if name not in sys.modules and (spec := find_spec(name)) is not None:
        sys.modules[name] = module = _Later(name)
        module.__spec__ = spec
