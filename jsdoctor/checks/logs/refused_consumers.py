"""Consumers that a server could not create: refused for their configuration, or not created for another cause."""

from __future__ import annotations

from jsdoctor.checks.logs.bursts import Burst

NOT_CREATED = "consumer-create-failed"
"""A signature of JSD411; lines that name a refusal are reported by JSD418."""

_REFUSALS = ("workqueue stream", "consumers limit reached", "can not be updated")


def refusals_in(burst: Burst) -> list[str]:
    """The refusals among the causes that the lines name, each once."""
    causes = dict.fromkeys(occurrence.value("reason") for occurrence in burst.found)
    return [cause for cause in causes if any(words in cause for words in _REFUSALS)]
