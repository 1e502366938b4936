"""JSD516: pull requests that the server ended with an error."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import View, gravest_of_each, moment
from jsdoctor.checks.packets.words import observed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.nats_traffic import StatusMessages
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params

_ORDINARY = (404, 408)
"""No message was there, or none came in time: how every pull without messages ends."""
_HARMLESS = ("batch completed", "message size exceeds maxbytes")
_MEANING = {
    "exceeded maxwaiting": "more pulls wait than max_waiting of the consumer allows",
    "exceeded maxrequestbatch": "the batch is larger than max_batch of the consumer allows",
    "exceeded maxrequestexpires": "the pull waits longer than max_expires of the consumer allows",
    "exceeded maxrequestmaxbytes": "the pull requests more bytes than max_bytes of the consumer allows",
    "consumer deleted": "somebody deleted the consumer, or it was inactive too long",
    "consumer is push based": "a push consumer cannot be pulled from",
    "leadership change": "the consumer has a new leader; clients pull again",
    "server shutdown": "the server of the consumer's leader was stopped; clients pull again",
    "exceeded maxackpending": "too many messages wait for their acks",
}


@check("packet_reordering.pulls_ended")
def pulls_ended(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By connection that got statuses."""

    def judge(view: View) -> Finding | None:
        ended = [one for one in view.nats.statuses if _counts(one)]
        if ended:
            return _finding(view, ended, params)
        return passed(view.subject) if view.nats.statuses or view.nats.deliveries else None

    yield from gravest_of_each(packets, judge, Severity.WARNING)


def _counts(one: StatusMessages) -> bool:
    return one.code >= 400 and one.code not in _ORDINARY and one.text.lower() not in _HARMLESS


def _finding(view: View, ended: list[StatusMessages], params: Params) -> Finding:
    count = sum(one.count for one in ended)
    return Finding(
        subject=view.subject,
        severity=None if count >= params.integer("warn") else Severity.INFO,
        message=f"the server ended pulls: {'; '.join(map(_said, ended[:4]))}{view.who}",
        measured=count,
        threshold=params.integer("warn"),
        unit="count",
        evidence=observed(view, **{f"status {one.code} {one.text}": one.count for one in ended}),
        first_seen=moment(min(one.first_ns for one in ended)),
        last_seen=moment(max(one.last_ns for one in ended)),
    )


def _said(one: StatusMessages) -> str:
    meaning = next((words for text, words in _MEANING.items() if text in one.text.lower()), "")
    return f"{one.count:,} with '{one.code} {one.text}'" + (f" ({meaning})" if meaning else "")
