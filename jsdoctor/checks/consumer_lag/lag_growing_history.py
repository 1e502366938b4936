"""JSD402, over hours: a lag that is larger in each bundle than in the one before."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.lag_growing import growing
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.history import History
from jsdoctor.model.params import Params


@check("consumer_lag.lag_growing_history")
def lag_growing_history(history: History, params: Params) -> Iterator[Finding]:
    """The sums of `lag_growing`, with the earlier bundles for samples."""
    return growing(history.consumers(), params)
