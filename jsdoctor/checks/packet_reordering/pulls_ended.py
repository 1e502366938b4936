"""JSD516: pull requests that the server ended with an error."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View, connection_check, observed, period
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.nats_traffic import StatusMessages
from jsdoctor.model.params import Params

_ORDINARY_CODES = (404, 408)
"""Codes of pulls that end without messages: none was stored, or none came in time."""
_FIRST_ERROR_CODE = 400
_SHOWN = 4
_HARMLESS = ("batch completed", "message size exceeds maxbytes")
_MEANING = {
    "exceeded maxwaiting": "more pulls wait than max_waiting of the consumer allows",
    "exceeded maxrequestbatch": "the batch is larger than max_batch of the consumer allows",
    "exceeded maxrequestexpires": "the pull waits longer than max_expires of the consumer allows",
    "exceeded maxrequestmaxbytes": "the pull requests more bytes than max_bytes of the consumer allows",
    "consumer deleted": "the consumer was deleted, or it was inactive too long",
    "consumer is push based": "a push consumer cannot be pulled from",
    "leadership change": "the consumer has a new leader; clients pull again",
    "server shutdown": "the server of the consumer's leader was stopped; clients pull again",
    "exceeded maxackpending": "too many messages wait for their acks",
}


@connection_check("packet_reordering.pulls_ended")
def pulls_ended(view: View, params: Params) -> Finding | None:
    """Judge each connection with status messages."""
    ended = [status for status in view.nats.statuses if _is_error(status)]
    if ended:
        count = sum(statuses.count for statuses in ended)
        return failed(
            view.subject,
            f"the server ended pulls: {'; '.join(map(_status_text, ended[:_SHOWN]))}{view.who}",
            *observed(view, **{f"status {statuses.code} {statuses.text}": statuses.count for statuses in ended}),
            severity=None if count >= params.integer("warn") else Severity.INFO,
            measured=(count, params.integer("warn"), "count"),
            between=period(*ended),
        )
    return passed(view.subject) if view.nats.statuses or view.nats.deliveries else None


def _is_error(statuses: StatusMessages) -> bool:
    return (
        statuses.code >= _FIRST_ERROR_CODE
        and statuses.code not in _ORDINARY_CODES
        and statuses.text.lower() not in _HARMLESS
    )


def _status_text(statuses: StatusMessages) -> str:
    meaning = next((words for text, words in _MEANING.items() if text in statuses.text.lower()), "")
    return f"{statuses.count:,} with '{statuses.code} {statuses.text}'" + (f" ({meaning})" if meaning else "")
