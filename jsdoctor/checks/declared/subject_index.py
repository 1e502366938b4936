"""Streams by the first token of their subjects: which of many may overlap with some subjects, without asking all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

_WILD = {"*", ">"}


class SubjectIndex:
    """Names of streams with their subjects."""

    def __init__(self, streams: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self._by_token: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for name, subjects in streams:
            for subject in subjects:
                self._by_token[subject.partition(".")[0]][name] = subjects

    def near(self, subjects: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Those with a subject whose first token may be that of one of these."""
        tokens = {subject.partition(".")[0] for subject in subjects}
        wanted = set(self._by_token) if tokens & _WILD else tokens | _WILD
        return {name: taken for token in wanted for name, taken in self._by_token.get(token, {}).items()}
