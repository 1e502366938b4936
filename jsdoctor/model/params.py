"""The parameter values that a check is given: the page's defaults, overridden by configuration and command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self


class Params:
    """Typed access to a rule's parameters. A name that the rule's page does not declare is a `KeyError`: a bug."""

    __slots__ = ("_values", "given", "used")

    def __init__(self, values: Mapping[str, float | int | None]) -> None:
        self._values = dict(values)
        self.used: set[str] = set()
        self.given: frozenset[str] = frozenset()
        """Names that a person set for this run; all others have their page's default."""

    @classmethod
    def of(cls, defaults: Mapping[str, float | int | None], given: Mapping[str, float | int | None]) -> Self:
        """A page's defaults, and what was set on the command line or in a configuration file."""
        params = cls({**defaults, **given})
        params.given = frozenset(given)
        return params

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def _value(self, name: str) -> float | int | None:
        self.used.add(name)
        return self._values[name]

    def number(self, name: str) -> float:
        """A ratio or a rate."""
        value = self._value(name)
        if value is None:
            raise KeyError(f"parameter {name!r} has no value; read it with optional()")
        return float(value)

    def integer(self, name: str) -> int:
        """A count, a number of bytes, or a duration in nanoseconds."""
        value = self._value(name)
        if value is None:
            raise KeyError(f"parameter {name!r} has no value; read it with optional()")
        return int(value)

    def optional(self, name: str) -> float | int | None:
        """A parameter that may be unset; unset means that the thing is not judged, never zero."""
        return self._value(name)
