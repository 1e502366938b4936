"""Publishes refused for the sequence that they expected, as logged."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.log import Occurrence

REFUSED = ("publish-wrong-last-sequence", "publish-wrong-last-sequence-traced", "stream-expected-sequence-refused")
"""Signatures that name the last sequence (`actual`); the last one names the expected one, too."""

_IN_A_ROW = 3


def some_ahead(occurrence: Occurrence) -> bool:
    """Whether one of these publishes expected a higher sequence than the last one, as all do where that was 0."""
    actual, expected = occurrence.measure("actual"), occurrence.measure("expected")
    if actual is not None and (actual.smallest == 0 or (expected is not None and expected.largest > actual.largest)):
        return True
    return any(
        int(line["expected"]) > int(line["actual"])
        for line in (dict(exemplar.fields) for exemplar in occurrence.exemplars)
        if "expected" in line
    )


def all_ahead(occurrence: Occurrence) -> bool:
    """Whether every one of them did, as far as the smallest and largest sequences show."""
    actual, expected = occurrence.measure("actual"), occurrence.measure("expected")
    if actual is None:
        return False
    return actual.largest == 0 or (expected is not None and expected.smallest > actual.largest)


def repeated(occurrences: Iterable[Occurrence], least: int) -> set[int]:
    """Last sequences that are named again and again: by all lines of a kind, or by the first ones that were kept."""
    sequences: set[int] = set()
    for occurrence in occurrences:
        measure = occurrence.measure("actual")
        lines = [dict(line.fields).get("actual") for line in occurrence.exemplars[:_IN_A_ROW]]
        if measure is None or occurrence.count < least:
            continue
        if measure.smallest == measure.largest:
            sequences.add(measure.smallest)
        elif len(lines) == _IN_A_ROW and len(set(lines)) == 1:
            sequences |= {int(text) for text in lines if text}
    return sequences
