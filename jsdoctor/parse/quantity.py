"""Quantities of Kubernetes, such as 10Gi."""

from __future__ import annotations

import re

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([kMGTPE]i?|Ki)?", re.ASCII)
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_MAX_CHARACTERS = 40


def quantity_bytes(text: str) -> int | None:
    """Bytes of a quantity; None for other text."""
    match = _QUANTITY.fullmatch(text[:_MAX_CHARACTERS])
    if match is None:
        return None
    suffix = match[2] or ""
    return int(float(match[1]) * (1024 if suffix.endswith("i") else 1000) ** _POWERS[suffix[:1]])
