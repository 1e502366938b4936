"""JSD204, over hours: a stream whose last sequence is lower than in an earlier bundle."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.checks.sequence_mismatch.stream_went_back import went_back
from jsdoctor.model.finding import Finding
from jsdoctor.model.history import History
from jsdoctor.model.params import Params


@check("sequence_mismatch.stream_went_back_history")
def stream_went_back_history(history: History, params: Params) -> Iterator[Finding]:
    """The comparison of `stream_went_back`, with the earlier bundles for samples."""
    return went_back(history.streams(), params)
