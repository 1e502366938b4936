"""Subjects with wildcards: whether two of them can ever mean the same message (server: sublist.go SubjectsCollide)."""

from __future__ import annotations


def subjects_overlap(one: str, other: str) -> bool:
    """Whether some subject matches both patterns. `*` stands for one token, a final `>` for one or more."""
    if one == other:
        return True
    left, right = one.split("."), other.split(".")
    for a, b in zip(left, right, strict=False):
        if a == ">" or b == ">":
            return True
        if a != b and "*" not in (a, b):
            return False
    return len(left) == len(right)


def overlaps_any(pattern: str, others: tuple[str, ...]) -> bool:
    """Whether some subject matches `pattern` and at least one of `others`."""
    return any(subjects_overlap(pattern, other) for other in others)
