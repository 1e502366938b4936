"""JSD517: requests to the JetStream API that fail, in captures or as a stream recorded them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.packets.views import View, connection_check, observed, period
from jsdoctor.checks.registry import check
from jsdoctor.model.advisories import AdvisoryKind, RecordedAdvisories
from jsdoctor.model.finding import Finding, Severity, Subject, failed, passed, unknown
from jsdoctor.model.nats_traffic import ApiFailure
from jsdoctor.model.params import Params
from jsdoctor.model.stored import AdvisoryStreams, StoredStream
from jsdoctor.model.wording import span

_SHOWN = 4
_NOT_FOUND = (10014, 10037, 10059)
"""Client libraries look for a consumer, a message or a stream before they create it: a few of these are ordinary."""


@connection_check("packet_reordering.api_requests_failed")
def api_requests_failed(view: View, params: Params) -> Finding | None:
    """Judge each connection with requests to the API."""
    api = view.nats.api
    if not api.requests:
        return None
    if api.unanswered and (unanswered := _unanswered(view, params.integer("wait"))):
        return unanswered
    if not api.failures:
        return passed(view.subject)
    count = sum(failure.count for failure in api.failures)
    missing = max((f.count for f in api.failures if f.err_code in _NOT_FOUND), default=0)
    others = sum(f.count for f in api.failures if f.err_code not in _NOT_FOUND and not _is_lookup(f))
    errors, not_found = params.integer("errors"), params.integer("not_found")
    by_missing = not others or (others < errors and missing >= not_found)
    return failed(
        view.subject,
        f"{count:,} of {api.requests:,} requests to the JetStream API failed:"
        f" {'; '.join(map(_failure_text, api.failures[:_SHOWN]))}{view.who}",
        *observed(
            view,
            **{f"{failure.operation} {failure.err_code or failure.code}": failure.count for failure in api.failures},
        ),
        severity=None if others >= errors or missing >= not_found else Severity.INFO,
        measured=(missing, not_found, "count") if by_missing else (others, errors, "count"),
        between=period(*api.failures),
    )


def _unanswered(view: View, wait_ns: int) -> Finding | None:
    """A finding where requests wait for longer than that, or where none had a response and some lines are missing."""
    api = view.nats.api
    if not view.nats.gapless:
        return None if api.unanswered < api.requests else unknown(view.subject, *_LINES_MISSING)
    if api.waiting_ns < wait_ns:
        return None
    return failed(
        view.subject,
        f"{api.unanswered:,} of {api.requests:,} requests to the JetStream API got no response, the oldest for"
        f" {span(api.waiting_ns)}: the leader that should respond is away or overloaded{view.who}",
        *observed(view, requests=api.requests, unanswered=api.unanswered, waiting_ns=api.waiting_ns),
        measured=(api.waiting_ns, wait_ns, "duration"),
        between=period(view.tcp),
    )


_LINES_MISSING = (
    "no response to a request of the JetStream API was captured, and lines of NATS are missing",
    "capture whole packets with a large buffer",
)
_DIRECT_GET = "DIRECT.GET"
_NO_MESSAGE = 404


def _is_lookup(failure: ApiFailure) -> bool:
    """Whether a direct get found no message: a key that is not there is an ordinary response."""
    return failure.operation == _DIRECT_GET and not failure.err_code and failure.code == _NO_MESSAGE


def _failure_text(failure: ApiFailure) -> str:
    code = failure.err_code or failure.code
    return f"{failure.operation} {failure.count:,} times with '{failure.description}' ({code}), first {failure.subject}"


_EXISTS = (10013, 10058, 10148)
"""Clients get these when they create what exists with other settings, and go on with it: a few are ordinary."""


@check("packet_reordering.api_requests_recorded")
def api_requests_recorded(advisories: AdvisoryStreams, params: Params) -> Iterator[Finding]:
    """One finding for each client that recorded audit advisories name."""
    for read in advisories.streams:
        by_client: dict[Subject, list[RecordedAdvisories]] = defaultdict(list)
        for entry in read.recorded(AdvisoryKind.API_AUDIT):
            by_client[Subject(kind="client", name=entry.client, account=entry.account)].append(entry)
        for client, refused in by_client.items():
            yield _recorded(read, client, sorted(refused, key=lambda entry: -entry.count), params.integer("errors"))
        if not by_client:
            yield passed(read.subject)


def _recorded(read: StoredStream, client: Subject, refused: list[RecordedAdvisories], errors: int) -> Finding:
    """The failures of one client. Only errors that are not ordinary make it a warning."""
    count = sum(entry.count for entry in refused)
    others = [entry for entry in refused if entry.err_code not in (*_NOT_FOUND, *_EXISTS)]
    named = (others + [entry for entry in refused if entry not in others])[:_SHOWN]
    unusual = sum(entry.count for entry in others)
    return failed(
        client,
        f"{count:,} requests of this client to the JetStream API were refused in a day, as stream {read.stream}"
        f" recorded: {'; '.join(map(_recorded_text, named))}",
        *(read.observed(f"{entry.operation} {entry.err_code}", entry.count) for entry in named),
        severity=None if unusual >= errors else Severity.INFO,
        measured=(unusual, errors, "count"),
        between=period(*refused),
    )


def _recorded_text(entry: RecordedAdvisories) -> str:
    return f"{entry.operation} {entry.count:,} times with '{entry.reason}' ({entry.err_code}), last {entry.subject}"
