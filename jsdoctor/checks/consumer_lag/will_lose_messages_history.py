"""JSD413, over hours: when a stream's limits reach a consumer that has been falling back since an earlier bundle."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.consumer_lag.will_lose_messages import losing
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding
from jsdoctor.model.history import History
from jsdoctor.model.params import Params


@check("consumer_lag.will_lose_messages_history")
def will_lose_messages_history(history: History, params: Params) -> Iterator[Finding]:
    """The sums of `will_lose_messages`, with the earlier bundles for samples."""
    return losing(history.consumers(), params)
