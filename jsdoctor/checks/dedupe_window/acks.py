"""Acknowledgements that call a message a duplicate, as applications and tracing servers log them."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.model.log import Occurrence

DUPLICATE_ACKS = (
    "duplicate-ack-json",
    "duplicate-ack-go",
    "duplicate-ack-python",
    "duplicate-ack-rust-javascript",
    "duplicate-ack-net",
    "duplicate-exception-net",
    "duplicate-ack-traced",
)
"""Signatures that name the sequence of the message that was stored first, as `stream_seq`."""


def sequences(occurrences: Iterable[Occurrence]) -> tuple[int, int] | None:
    """The lowest and highest sequence that were called the original."""
    measures = [measure for occurrence in occurrences if (measure := occurrence.measure("stream_seq"))]
    if not measures:
        return None
    return min(measure.smallest for measure in measures), max(measure.largest for measure in measures)
