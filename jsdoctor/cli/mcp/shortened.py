"""Results within a size limit: the longest lists of a document lose their last entries, which the result counts."""

from __future__ import annotations

import json
from typing import Any

_ORDER = ("fail", "error", "not_evaluated", "not_applicable", "pass")


def answer(document: dict[str, Any], limit: int) -> str:
    """The document as JSON of at most `limit` bytes, failures first in its results.

    `shortened` in it holds, for each list that was cut, how many entries are shown and how many there are. A document
    without lists that is still too long becomes a sentence about its size.
    """
    if isinstance(document.get("results"), list):
        document = {**document, "results": sorted(document["results"], key=_rank)}
    text = _json(document)
    cut = dict(document)
    counts: dict[str, dict[str, int]] = {}
    while len(text.encode()) > limit:
        longest = max(
            (name for name, value in cut.items() if isinstance(value, list) and value), key=_size(cut), default=""
        )
        if not longest:
            return _json({"shortened": {"bytes": {"shown": 0, "total": len(_json(document).encode())}}})
        shown = len(cut[longest]) * 2 // 3
        cut[longest] = cut[longest][:shown]
        counts[longest] = {"shown": shown, "total": len(document[longest])}
        text = _json({**cut, "shortened": counts})
    return text


def _size(document: dict[str, Any]) -> Any:
    return lambda name: len(_json(document[name]))


def _rank(result: dict[str, Any]) -> int:
    outcome = result.get("outcome")
    return _ORDER.index(outcome) if outcome in _ORDER else len(_ORDER)


def _json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
