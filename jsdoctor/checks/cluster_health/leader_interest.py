"""JSD730: a leader that does not subscribe to its stream's subjects, so that nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.leader_interest import LeaderInterest


@check("cluster_health.leader_interest")
def leader_interest(interest: LeaderInterest) -> Iterator[Finding]:
    """Judge what servers reported. A client's subscription to the same subject hides that the leader's is missing."""
    for stream in interest.streams:
        if stream.found:
            yield passed(stream.subject)
        elif stream.found is None:
            yield unknown(
                stream.subject,
                f"its leader {stream.server} was not queried for its subscriptions, as it does so slowly or not at all",
                "run again when that server has less to do",
            )
        else:
            yield failed(
                stream.subject,
                f"its leader {stream.server} does not subscribe to {stream.listens_to}: publishes get 'no responders',"
                " and nothing is stored until it has another leader or that server is restarted",
                stream.observed,
            )
