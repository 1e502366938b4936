"""How differences between clocks are worded."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model import wording
from jsdoctor.model.clock import Offset
from jsdoctor.model.finding import Subject
from jsdoctor.model.wording import span

THIS_MACHINE = Subject(kind="client", name="this machine")
"""The subject of findings about the local clock."""

_NAMES_SHOWN = 3
_STEPS = ((60_000_000_000, 1_000_000_000), (1_000_000_000, 1_000_000), (1_000_000, 10_000), (1_000, 1_000))
"""The smallest length, and the step that lengths from there on are rounded to, both in nanoseconds."""


def difference(offset: Offset, other: str) -> str:
    """Such as `5s ahead of n1's (±310µs)`."""
    return f"{_apart(offset)} {other} (±{_bound(offset)})"


def doubt(offset: Offset, other: str) -> str:
    """Why two clocks could not be compared well enough."""
    return f"its clock is {_apart(offset)} {other}, give or take {_bound(offset)}"


def _apart(offset: Offset) -> str:
    length_ns = abs(offset.middle_ns)
    step = _step(length_ns)
    return f"{span((length_ns + step // 2) // step * step)} {'behind' if offset.middle_ns < 0 else 'ahead of'}"


def _bound(offset: Offset) -> str:
    """The bound, rounded up so that it still holds."""
    step = _step(offset.bound_ns)
    return span(-(-offset.bound_ns // step) * step)


def _step(length_ns: int) -> int:
    return next((step for least, step in _STEPS if length_ns >= least), 1)


HOW_TO_MEASURE_BETTER = "run again from nearer to the servers, or when they and the network are less busy"


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return wording.listed(names, _NAMES_SHOWN)
