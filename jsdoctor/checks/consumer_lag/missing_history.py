"""JSD411, over hours: a durable consumer that an earlier bundle shows and that is not there now."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.missing import gone
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.history import History


@check("consumer_lag.missing_history")
def missing_history(history: History) -> Iterator[Finding]:
    """The comparison of `missing`. In hours a consumer may have been deleted on purpose, so it is a warning."""
    return gone(history.snapshots, Severity.WARNING)
