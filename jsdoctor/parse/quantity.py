"""Quantities of Kubernetes, such as 10Gi."""

from __future__ import annotations

import re

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([kMGTPE]i?|Ki)?", re.ASCII)
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_MOST_CHARACTERS = 40


def quantity_bytes(text: str) -> int | None:
    """Bytes of a quantity; None for other text."""
    found = _QUANTITY.fullmatch(text[:_MOST_CHARACTERS])
    if found is None:
        return None
    suffix = found[2] or ""
    return int(float(found[1]) * (1024 if suffix.endswith("i") else 1000) ** _POWERS[suffix[:1]])
